/*
 * Certificates and keys for tests, made by openssl for this purpose alone; they
 * protect nothing. All are valid for a hundred years.
 */
#ifndef TESTS_TLS_PEM_H
#define TESTS_TLS_PEM_H

#include "base/str.h"

#include <bearssl.h>

/* P-256, CN=localhost, SAN localhost */
#define PEM_EC_CERT \
	"-----BEGIN CERTIFICATE-----\n" \
	"MIIBlDCCATugAwIBAgIUJL0UMQ7In3h+cBGww/Ntvny6C/IwCgYIKoZIzj0EAwIw\n" \
	"FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAyNTI0OFoYDzIxMjYxMDI4\n" \
	"MDI1MjQ4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO\n" \
	"PQMBBwNCAAT2vyQ10rf68uIKKudEu3Eue8wqH5LW0C7CF/EmcJGX9NR5s//r9A8p\n" \
	"F6T8nKSQ9WeyDcXQLM1vsDKSKS+EeYjuo2kwZzAdBgNVHQ4EFgQUK+srXJN8GwSv\n" \
	"RjnwvsRikbxosU8wHwYDVR0jBBgwFoAUK+srXJN8GwSvRjnwvsRikbxosU8wDwYD\n" \
	"VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID\n" \
	"RwAwRAIgW0qZ0nFJc7PmTy0/Ibq7Vz+MfIRlVPoaDr82ufwt7CcCICXodha3GcC4\n" \
	"mt0CIJPtNeO4yjEgTBmD4iUksKGZ8wnl\n" \
	"-----END CERTIFICATE-----\n"

/* its key, SEC1 */
#define PEM_EC_KEY \
	"-----BEGIN EC PRIVATE KEY-----\n" \
	"MHcCAQEEILf9q/mLq+sMTQ6/6WJ/0iKyCwMIXVSxafDVyzK1gDRUoAoGCCqGSM49\n" \
	"AwEHoUQDQgAE9r8kNdK3+vLiCirnRLtxLnvMKh+S1tAuwhfxJnCRl/TUebP/6/QP\n" \
	"KRek/JykkPVnsg3F0CzNb7AykikvhHmI7g==\n" \
	"-----END EC PRIVATE KEY-----\n"

/* the same, PKCS#8 */
#define PEM_EC_KEY_PKCS8 \
	"-----BEGIN PRIVATE KEY-----\n" \
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgt/2r+Yur6wxNDr/p\n" \
	"Yn/SIrILAwhdVLFp8NXLMrWANFShRANCAAT2vyQ10rf68uIKKudEu3Eue8wqH5LW\n" \
	"0C7CF/EmcJGX9NR5s//r9A8pF6T8nKSQ9WeyDcXQLM1vsDKSKS+EeYju\n" \
	"-----END PRIVATE KEY-----\n"

/* the same, with a passphrase */
#define PEM_EC_KEY_LOCKED \
	"-----BEGIN ENCRYPTED PRIVATE KEY-----\n" \
	"MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAizLWnHXK847AICCAAw\n" \
	"DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEECP6SHHH4ArjxnHlsiei0Y8EgZAN\n" \
	"9Tv5i6BsVYFEiCHLnNI2/E7GEm8XLP70oD6EDrTsAQ3MLS+A1bWBfab1Zlv1Ymkm\n" \
	"Bidlg9iJ434AjXxZPFRJRPhJFnklUCwlIccCYGP/8PO5zBnbIRVRJkx4sFRS1wqf\n" \
	"7KcCWE+PPihbbAk4bDEiq1TNQ8rw/j1C6VuZBT2xCG7zrLlSPdSRkB1d1KS822w=\n" \
	"-----END ENCRYPTED PRIVATE KEY-----\n"

/* RSA 2048, CN=localhost */
#define PEM_RSA_CERT \
	"-----BEGIN CERTIFICATE-----\n" \
	"MIIDCzCCAfOgAwIBAgIUb9seSqhKTMLAANf2RDpsf0aF5SYwDQYJKoZIhvcNAQEL\n" \
	"BQAwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAyNTI0OFoYDzIxMjYx\n" \
	"MDI4MDI1MjQ4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwggEiMA0GCSqGSIb3DQEB\n" \
	"AQUAA4IBDwAwggEKAoIBAQC4rl5vMnGCWBgoQ8wBOzp4RkscdlY6vCGBKp5CWG8K\n" \
	"cjXBbyVMtMRovwaRZ5FuT1Gnom+2gNpQ82qnBj2fCI2/5so8BwQmwRNI70VMZ9uL\n" \
	"t3EWlSecwbWzYx51IzYK4dD2ttVxM0AoYrHwywSo5hOt87pDrkjKgrEeGw1tnzpw\n" \
	"XJp5wwTFIlaRuXlr2MbwtM5OpUU9pA7n1xG0A1vcxfMphIe2Rs2lg7+JDV1RsiHr\n" \
	"0jDehIDP+dyhuAbzxPWi2cWBqfzG05ckLG3A57oCeeTgV6PvfRQ/kTl1fRb5UmiA\n" \
	"UXw+P21p0MkBfZq78qF5zoAHgycc2YsgNULoq9/08W/lAgMBAAGjUzBRMB0GA1Ud\n" \
	"DgQWBBT0WJRpleLYEVCiO/3zuHr/TUII6jAfBgNVHSMEGDAWgBT0WJRpleLYEVCi\n" \
	"O/3zuHr/TUII6jAPBgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQBx\n" \
	"9q9B1FEXELiguUKxCkh5PQR8/BYfyge3G59hWd5bbciO/0x3hrhXCKMZFSmdiODQ\n" \
	"/mQZJVdZmQigWhRfre/IswAAYRXhfAeIY7eHq0mI2fhtpkkY3/pGbuDgcSAmpfRi\n" \
	"0bbwj59EjpZc1npL/FcvwhShCgkQFWQwpwFBj0hAqAG7QFzJTmY7lNH1h+3pG8uE\n" \
	"Cld0UtYDuKz5jlXqYSyxD7xoUikuM49r8zeWmsAeWVrkrloArBqN6BhxaVxVT768\n" \
	"5zY5XNcjKou2etziQl+aQtcdF6tFMG8Ol7p7ggAoGTiPWPnrhBnTX0uojfm+43d/\n" \
	"BGuM/kbkPpkIK9FmfIpT\n" \
	"-----END CERTIFICATE-----\n"

/* its key, PKCS#1 */
#define PEM_RSA_KEY \
	"-----BEGIN RSA PRIVATE KEY-----\n" \
	"MIIEpQIBAAKCAQEAuK5ebzJxglgYKEPMATs6eEZLHHZWOrwhgSqeQlhvCnI1wW8l\n" \
	"TLTEaL8GkWeRbk9Rp6JvtoDaUPNqpwY9nwiNv+bKPAcEJsETSO9FTGfbi7dxFpUn\n" \
	"nMG1s2MedSM2CuHQ9rbVcTNAKGKx8MsEqOYTrfO6Q65IyoKxHhsNbZ86cFyaecME\n" \
	"xSJWkbl5a9jG8LTOTqVFPaQO59cRtANb3MXzKYSHtkbNpYO/iQ1dUbIh69Iw3oSA\n" \
	"z/ncobgG88T1otnFgan8xtOXJCxtwOe6Annk4Fej730UP5E5dX0W+VJogFF8Pj9t\n" \
	"adDJAX2au/Khec6AB4MnHNmLIDVC6Kvf9PFv5QIDAQABAoIBABtPFYHF6MkIc9II\n" \
	"bHNGKdg9NMAps4iN5zptbeeLoifeSZqn79EO7fg7PyJjOTshmYZ7W5+WIDJWPFAk\n" \
	"eRo6LpPQ8di8hN2iMVLYptusg+d+IcfgGHJypoa3Qnq50TT8vWSuFpPdq0ANkBh2\n" \
	"POMo2oIfh0yYygTAHKbCA1NRd1fD6XIer6FdJg8rpkGVF/FjM1y/UBduC5dgkP7E\n" \
	"EwwqvZkAcUpMv184CuPN2BljM8k3S127cedM2Ce513gMVTkufOUSogawnJeshJxr\n" \
	"0GwjnSUnt9i40WhypnmsYHGFyVFK62z5kylaeoghSK2WEpiOLFOK4rShlhLHyCZ2\n" \
	"3sESxiECgYEA4BJ2JbUv5FsUkyBN2XLe6kD5XBZb6IHDm66lPBfJ1c3Bh5JweJi9\n" \
	"xUZGyFZhDGYjx7h6hV7AZGK46ZtINXi6Pg33CvVYuck7fcpmO3N7DkdVHKQkf3vR\n" \
	"TOhKL+Ai16RBcpHbx+tJOAlEMQws1v5deauxe6yu0b8fwTfSqZkk790CgYEA0v8I\n" \
	"JI/py/5wIpIk5OuDFRwad5H/+u7Na/KVeJnaSBtU1kbqwrspnenkWwty+Leoovkc\n" \
	"I8lh2SA4v/DPB7ZtdH8mVAaBxzy+lJc2DbxncGz6Qpm0nKf1UDYpQfkVf0psbEL9\n" \
	"BAN3N7grcZaoR3ekxwUdgRRIjk+gbnrM3sOFg6kCgYEAu28V/4LpteZudofONzg8\n" \
	"uc1yCZL2fK6XltHnjDYF8t/zpFld1bNHAw8/RHPlKH8ELRvm+UuCOjbOoTLwmzIK\n" \
	"8L+zyCnldzualSXKkK6P4CjRTG0NzsofEWs6K4QdAS94Q8M5CqmJjONLdI/PrmQG\n" \
	"gzGY/HA9qFxszq7IfHALks0CgYEAnHBIyksFrqEc5RT0U+KmUu1+Vi8i2xtZpXK8\n" \
	"DioMZLAXC7SS9QSuC45SKIrpmK0bVJJcoc/7Q3AXg4B5D5/bsadgdKZKbL2GFEe0\n" \
	"5SROkVXLi7vI5OnHAczWdDrJDJLSpsZYMDSdnOtpEpQAetSjkIgjYwP188XoDmHw\n" \
	"Ki5PfNkCgYEAkvwhxzTJ7XPGHhfW1Q5LFYFZ9yylkgLjd1kpYXsku4PYv7HwU+Hd\n" \
	"uMzAoP8uRGTt/RdpbYkmqdgbkleyBJQql7D6fmrIqSAQoRsofEyjufBjGxGkatxZ\n" \
	"83SbeCiJCKknFh0zygIGzNrcZdXvYEXZi322NSOsDLBY4X0qLHafX1Y=\n" \
	"-----END RSA PRIVATE KEY-----\n"

/* RSA 1024 */
#define PEM_SMALL_CERT \
	"-----BEGIN CERTIFICATE-----\n" \
	"MIIB9jCCAV+gAwIBAgIUVAjKHi4zvUYKh6p454on4FeIAxAwDQYJKoZIhvcNAQEL\n" \
	"BQAwDDEKMAgGA1UEAwwBeDAgFw0yNjExMjEwMjUyNDhaGA8yMTI2MTAyODAyNTI0\n" \
	"OFowDDEKMAgGA1UEAwwBeDCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEAuE2h\n" \
	"2vByyj32kUMe+jVcU00CIrrnFyRe9SEVp84blxfTBRawHYw6hnq50oG1UobPgpzU\n" \
	"aCiME+9R2Ik9yf4q+Nk5m2/h0bomFjo2JLQcgSOIA+b4zSPKEtNe0/Y+jBa/xpxB\n" \
	"Dau1o7qklWQuE3hQL8wu7DzuYLdgUnKyXQz4s8UCAwEAAaNTMFEwHQYDVR0OBBYE\n" \
	"FLREtd7IhiDuVSvDP/LkNAiM5z8xMB8GA1UdIwQYMBaAFLREtd7IhiDuVSvDP/Lk\n" \
	"NAiM5z8xMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADgYEApWHLZhE8\n" \
	"RyLdMI/EC8LeeO2t4xbDGdzb41pXAKFtpZBM6w60aeZWCcIBUZeI1jkFA6nkL28M\n" \
	"r/eyqdwINyWt07K8P4R8/woyz1YZ/FsVkVkEW3UNfRfO2nIA35mysxSt8hkFvFWk\n" \
	"EzYOfcRwUrYkkz3Kwto72jbYpHxFDYyFeLU=\n" \
	"-----END CERTIFICATE-----\n"

#define PEM_SMALL_KEY \
	"-----BEGIN RSA PRIVATE KEY-----\n" \
	"MIICXQIBAAKBgQC4TaHa8HLKPfaRQx76NVxTTQIiuucXJF71IRWnzhuXF9MFFrAd\n" \
	"jDqGernSgbVShs+CnNRoKIwT71HYiT3J/ir42Tmbb+HRuiYWOjYktByBI4gD5vjN\n" \
	"I8oS017T9j6MFr/GnEENq7WjuqSVZC4TeFAvzC7sPO5gt2BScrJdDPizxQIDAQAB\n" \
	"AoGALiu0moaWGzg+ptFr1z667FtkZ5LvBYslBr/NDwbBPq7HPIUchap1lu7z0lqQ\n" \
	"NCZ1ocDsLVPLE8tmc5qeEhZMaTGRvLw5q798XkFRU964v0Q4P6vfwNH+j5+rOX/W\n" \
	"HhwWaXeGbwyEKfSWlxZnRFB30smewE3wDbW4qJBBCjhW9ZkCQQDwDIVs+717d/VX\n" \
	"Y6zU2vixitybpE6umGrm2fS7vY4Xt+mom1SvHgtTEQevVCm50TyiBhfSqejD2ipD\n" \
	"9f9lMTAbAkEAxIzR7zbpaM9ITyKYjbJkiTLDP/zSQa9+mY2N8XFWhy1yxE9Enpyr\n" \
	"0kCzBQ3jQwABlLoPkBbxi9PFz1igvp6pnwJBAJfO81p24eABfxDjIlwClyCAtv9f\n" \
	"K7tS/Ng9on5QZFovnv9YLHgKwhKoRHnm+fRflL7Kp6o8dc3WXMBaBEgUkV0CQQCc\n" \
	"tqMUlrXYKZ2/6xezsw9SDTV8qXqDgQfyKtmILxQMyAH/4CwYQ1cEVy3l08LmQvT/\n" \
	"vrJ18rU5BetsfX/9PMiFAkBmd6gFrRFbAIPhkyVt5hO8lrVHH+J4C+uJZ+y6Ay8n\n" \
	"sBMYI3GZHxhU34CWp5v6rPRqbmDMlKwPVANzaoXWaqNM\n" \
	"-----END RSA PRIVATE KEY-----\n"

#define PEM_P384_CERT \
	"-----BEGIN CERTIFICATE-----\n" \
	"MIIBrDCCATKgAwIBAgIUce9MePVBp6nu/LhzcI2WNpvCl8cwCgYIKoZIzj0EAwIw\n" \
	"DDEKMAgGA1UEAwwBeDAgFw0yNjExMjEwMjUyNDhaGA8yMTI2MTAyODAyNTI0OFow\n" \
	"DDEKMAgGA1UEAwwBeDB2MBAGByqGSM49AgEGBSuBBAAiA2IABBimZSnSG96anfA/\n" \
	"SXBTGwa0m8Yx/P9CJ4ucZL9+Hg4lTs/04UpgkgdYlcWnAKkk7YSU86JjlGPvpONd\n" \
	"9HwTrbu9t7Vpxy3NvlrCJxZpUFUu/UQ6z6Y9N3HxMVpB0EAy5KNTMFEwHQYDVR0O\n" \
	"BBYEFBf06ml92itjdrpEoPzRkEuX/S8sMB8GA1UdIwQYMBaAFBf06ml92itjdrpE\n" \
	"oPzRkEuX/S8sMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDaAAwZQIxAOM4\n" \
	"WJP0diXUNevkx9oQQVw3S2De95+A1XiJhmC0uaVnNGn9RHDeX8DALrrj9zW54gIw\n" \
	"ELr5j+eI/x1NLYgz4ftevzWQQyLCKKfdG0N+1v/k2JKMG7foxiRBIH9vrbxW77KF\n" \
	"-----END CERTIFICATE-----\n"

#define PEM_P384_KEY \
	"-----BEGIN EC PRIVATE KEY-----\n" \
	"MIGkAgEBBDCkjCOW+VyTKrq7GFJ4DLpmpeihClA60LFMLVQl03ur8bBWQcAlTpIn\n" \
	"ZpE4nBagyoWgBwYFK4EEACKhZANiAAQYpmUp0hvemp3wP0lwUxsGtJvGMfz/QieL\n" \
	"nGS/fh4OJU7P9OFKYJIHWJXFpwCpJO2ElPOiY5Rj76TjXfR8E627vbe1acctzb5a\n" \
	"wicWaVBVLv1EOs+mPTdx8TFaQdBAMuQ=\n" \
	"-----END EC PRIVATE KEY-----\n"

#define PEM_ED25519_KEY \
	"-----BEGIN PRIVATE KEY-----\n" \
	"MC4CAQAwBQYDK2VwBCIEII1E0l6R3+Myr6k+zNUqwjm5nMRs/KZg+G/IPpgahKuS\n" \
	"-----END PRIVATE KEY-----\n"

/* The public key of the first certificate, which the client takes as known. */
static inline const br_x509_pkey *leaf_key(const char *pem, br_x509_decoder_context *d)
{
	br_pem_decoder_context p;
	struct str text = str_c(pem);

	br_x509_decoder_init(d, NULL, NULL);
	br_pem_decoder_init(&p);
	while (text.n) {
		text = str_skip(text, br_pem_decoder_push(&p, text.p, text.n));
		switch (br_pem_decoder_event(&p)) {
		case BR_PEM_BEGIN_OBJ:
			br_pem_decoder_setdest(&p,
				(void (*)(void *, const void *,
					size_t))br_x509_decoder_push,
				d);
			break;
		case BR_PEM_END_OBJ:
			return br_x509_decoder_get_pkey(d);
		}
	}
	return NULL;
}

#endif
