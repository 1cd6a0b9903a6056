"""Certificates of every kind, for tests of whom TLS believes."""
import datetime
import hashlib
import ipaddress
import os
import subprocess
import tempfile

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID as EKU, NameOID
except ImportError:
    x509 = EKU = None

NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
DAY = datetime.timedelta(days=1)
PEM = serialization.Encoding.PEM if x509 else None
KEYS = {}


def key(kind="ec"):
    """One key for all certificates of a kind would do, but not for issuer and issued."""
    if kind.startswith("rsa"):
        if kind not in KEYS:
            KEYS[kind] = rsa.generate_private_key(65537, int(kind[3:]))
        return KEYS[kind]
    return ec.generate_private_key({"ec": ec.SECP256R1, "p384": ec.SECP384R1,
                                    "p521": ec.SECP521R1}[kind]())


class Cert:
    def __init__(self, name, issuer=None, kind="ec", ca=False, pathlen=None, dns=(), ips=(),
                 san=None, eku=None, usage=None, constraints=None, critical=True, start=-2,
                 end=30, digest="sha256", basic=True, pad=0, unknown=False, signer=None):
        self.key = key(kind)
        self.issuer = issuer
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        b = (x509.CertificateBuilder().subject_name(self.name)
             .issuer_name(issuer.name if issuer else self.name)
             .public_key(self.key.public_key()).serial_number(x509.random_serial_number())
             .not_valid_before(NOW + start * DAY).not_valid_after(NOW + end * DAY))
        names = [x509.DNSName(n) for n in dns]
        names += [x509.IPAddress(ipaddress.ip_address(i)) for i in ips]
        if san or names:
            b = b.add_extension(x509.SubjectAlternativeName(san or names), False)
        if basic:
            b = b.add_extension(x509.BasicConstraints(ca, pathlen), True)
        if eku:
            b = b.add_extension(x509.ExtendedKeyUsage(eku), False)
        if usage:
            every = dict.fromkeys(["digital_signature", "content_commitment", "key_agreement",
                                   "key_encipherment", "data_encipherment", "key_cert_sign",
                                   "crl_sign", "encipher_only", "decipher_only"], False)
            b = b.add_extension(x509.KeyUsage(**{**every, usage: True}), True)
        if constraints:
            b = b.add_extension(x509.NameConstraints(
                [x509.DNSName(c) for c in constraints], None), critical)
        oid = x509.ObjectIdentifier("1.3.6.1.4.1.99999.1")
        if pad or unknown:
            value = b"\x04\x84" + pad.to_bytes(4, "big") + bytes(pad)
            b = b.add_extension(x509.UnrecognizedExtension(oid, value), bool(unknown))
        by = signer or (issuer or self).key
        self.cert = b.sign(by, {"sha1": hashes.SHA1, "sha256": hashes.SHA256,
                                "sha384": hashes.SHA384, "sha512": hashes.SHA512}[digest]())

    def sign_again(self, issuer, *how):
        """With a hash that the library does not use any more."""
        with tempfile.TemporaryDirectory() as folder:
            def put(name, text):
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(text)
                return os.path.join(folder, name)
            out = subprocess.run(
                ["openssl", "x509", "-in", put("cert", self.pem()), "-CA",
                 put("ca", issuer.pem()), "-CAkey", put("key", issuer.key_pem()), "-set_serial", "7",
                 *how], capture_output=True, check=True).stdout
        self.cert = x509.load_pem_x509_certificate(out)
        return self

    def pem(self):
        return self.cert.public_bytes(PEM)

    def key_pem(self):
        return self.key.private_bytes(PEM, serialization.PrivateFormat.PKCS8,
                                      serialization.NoEncryption())

    def pin(self):
        return hashlib.sha256(self.key.public_key().public_bytes(
            serialization.Encoding.DER,
            serialization.PublicFormat.SubjectPublicKeyInfo)).hexdigest()
