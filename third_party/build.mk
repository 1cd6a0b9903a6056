# Builds the third-party sources into one archive; called by the Makefile for each
# kind of build, once third_party/src stands.
#
#   make -f third_party/build.mk LIB=x.a OUT=folder CC=... AR=... CFLAGS=... FAST=... SMALL=...
#
# Whole BearSSL, because the linker takes only what is used; of zlib what works in
# memory (no gz* files). jsmn is a header. musl comes compiled.

BEARSSL = third_party/src/bearssl
ZLIB = third_party/src/zlib

# Bytes are put together with shifts, not with unaligned loads, which are
# undefined and which gcc turns into the same loads anyway.
FLAGS_BEARSSL = -I$(BEARSSL)/inc -I$(BEARSSL)/src -DBR_LE_UNALIGNED=0 -DBR_BE_UNALIGNED=0 $(SMALL)
# Tables of 11 KB are made when they are first needed. Only the inner loops of inflating and of
# checksums are faster with -O2.
FAST_ZLIB = inffast adler32 crc32
FLAGS_ZLIB = -DHAVE_UNISTD_H -DDYNAMIC_CRC_TABLE -DBUILDFIXED \
	$(if $(filter $(FAST_ZLIB),$*),$(FAST),$(SMALL))

SRC_BEARSSL = $(sort $(wildcard $(BEARSSL)/src/*.c $(BEARSSL)/src/*/*.c))
SRC_ZLIB = $(addprefix $(ZLIB)/,adler32.c compress.c crc32.c deflate.c inffast.c \
	inflate.c inftrees.c trees.c uncompr.c zutil.c)

OBJ = $(patsubst third_party/src/%.c,$(OUT)/%.o,$(SRC_BEARSSL) $(SRC_ZLIB))

$(LIB): $(OBJ)
	@rm -f $@
	@$(AR) qcsPD $@ $(OBJ)

# Written only when the compiler or its flags change, which then rebuilds all.
$(OUT)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS) $(FAST) $(SMALL)' | cmp -s - $@ || echo '$(CC) $(CFLAGS) $(FAST) $(SMALL)' >$@
FORCE:

$(OUT)/bearssl/%.o: third_party/src/bearssl/%.c third_party/build.mk $(OUT)/flags
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -w $(FLAGS_BEARSSL) -c -o $@ $<

$(OUT)/zlib/%.o: third_party/src/zlib/%.c third_party/build.mk $(OUT)/flags
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -w $(FLAGS_ZLIB) -c -o $@ $<
