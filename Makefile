# od-runtime: three static programs from one tree.
#
#   make              build/ARCH/od-runtime-client, od-plugins and od-runtime
#   make both         the same, with the programs for both architectures in od-runtime
#   make test         unit tests with sanitizers, then tests/e2e
#   make test-release the unit tests against musl (under qemu for a foreign ARCH)
#   make check        the link gate, layers, lint
#   make fuzz         runs each tests/fuzz/*.c for FUZZ_SECONDS (default 60); fuzz-NAME runs one
#   make bench        tests/bench, or the steps of it that ONLY names
#   make dist         dist/od-runtime-VERSION.tar.gz, which builds without a network
#   make format       lays out src and inject as .clang-format says
#   make install      into DESTDIR and PREFIX (default /usr/local): the programs, the
#                     manual page, completion for bash, zsh and fish; with the BUSYBOX
#                     of this machine as od-busybox, if there is one
#   make docs         docs/commands.md, from the table of options
#   make third_party  third-party sources and archives only
#   make clean
#   make help         this text, and the steps of bench
#
# ARCH=x86_64|aarch64 chooses the target, BUILD=dir another output folder, V=1
# shows every command.

VERSION = 0.1.0
HOST_ARCH := $(shell uname -m)
ARCH = $(HOST_ARCH)
BUILD = build
B = $(BUILD)/$(ARCH)
PREFIX = /usr/local
FUZZ_SECONDS = 60
# A ConfigMap of Kubernetes takes 1,048,576 bytes, a config of Swarm 1,024,000.
BOXED_MAX_BYTES = 1000000

Q = $(if $(V),,@)
ifeq ($(filter $(ARCH),x86_64 aarch64),)
$(error ARCH is '$(ARCH)'; it can be x86_64 or aarch64)
endif
ifneq ($(ARCH),$(HOST_ARCH))
CROSS = $(ARCH)-linux-gnu-
RUN = qemu-$(ARCH)-static
endif

# --- Sources ------------------------------------------------------------------

MAINS = src/main.c src/plugins_main.c inject/main.c
# The files of a folder and of the folders below it. Tests mirror the folders of src and inject.
files_below = $(sort $(foreach d,/ /*/ /*/*/ /*/*/*/,$(wildcard $1$d$2)))
LIB_SRC := $(filter-out $(MAINS),$(call files_below,src,*.c))
INJECT_SRC := $(filter-out $(MAINS),$(call files_below,inject,*.c))
UNIT_SRC := $(call files_below,tests/unit,test_*.c) $(sort $(wildcard tests/patches/test_*.c))
INTEGRATION_SRC := $(call files_below,tests/integration,test_*.c)
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))

# What goes into a sandbox, and what brings it there.
BOXED = od-runtime-client od-plugins
PROGRAMS = $(addprefix $(B)/,$(BOXED) od-runtime)

all: $(PROGRAMS)

# --- Flags --------------------------------------------------------------------

WARN = -Wall -Wextra -Wconversion -Wshadow -Wvla -Wformat=2 -Wstrict-prototypes \
	-Wmissing-prototypes -Werror
THIRD_INC = $(addprefix -isystem third_party/src/,bearssl/inc jsmn zlib)
# -iquote, because src/limits.h must not hide the C library's <limits.h>
COMMON = -std=gnu11 -D_GNU_SOURCE -DOD_VERSION='"$(VERSION)"' -iquote src -iquote . $(THIRD_INC)

# musl's headers and the compiler's own; the kernel's stand with those of glibc,
# which must not be seen, and are therefore linked into a folder of their own.
MUSL = third_party/src/musl-$(ARCH)
MUSL_LIB = $(MUSL)/lib/$(ARCH)-linux-musl
KERNEL_INC = $(B)/kernel-include
KERNEL_FROM = $(if $(CROSS),/usr/$(ARCH)-linux-gnu/include,/usr/include)
KERNEL_ASM = $(KERNEL_FROM)$(if $(CROSS),,/$(ARCH)-linux-gnu)/asm
MUSL_INC = -nostdinc -isystem $(MUSL)/include/$(ARCH)-linux-musl \
	-isystem $(shell $(CC_release) -print-file-name=include) \
	-idirafter $(KERNEL_INC)

# Texts in the program, packed; .incbin looks for them there.
EMBED = $(B)/embed
COMMON += -Wa,-I$(EMBED)
$(EMBED)/%.gz: %
	@mkdir -p $(@D)
	$(Q)gzip -9nc $< >$@

# Four kinds of build, each with its compiler and flags. "release" is what ships.
CC_release = $(CROSS)gcc
# No landing pads for indirect branches (x86's IBT, ARM's BTI): musl's objects have none, so that
# the linker marks no program as protected, and the kernel never checks them.
FLAGS_release_x86_64 = -fcf-protection=none
# The stack's guard is read where musl keeps it for each thread, as on x86_64, and not through
# the table of addresses, which takes 9 KB more.
FLAGS_release_aarch64 = -mbranch-protection=pac-ret -mstack-protector-guard=sysreg \
	-mstack-protector-guard-reg=tpidr_el0 -mstack-protector-guard-offset=-16
# Small, but where bytes go by: there -O2 is up to a fifth faster, for an eighth more room,
# which aarch64 does not have. BearSSL keeps -Os: its loops compute. Both -Os and -Oz make a
# strcpy, which linkgate refuses, of a snprintf.
SMALL_release = -Oz -fno-builtin-snprintf
SMALL_THIRD_release = -Os
FAST_release = $(if $(filter x86_64,$(ARCH)),-O2,-Os -fno-builtin-snprintf)
FAST = $(addprefix src/,codec/http/body codec/http/ws net/transport \
	$(addprefix base/,arena b64 buf clock crc hash json% jw sha256_cpu str utf8) \
	$(addprefix codec/,mark archive/tar archive/untar) \
	$(addprefix codec/vt/,vt vt_cells vt_parse vt_row vt_screen vt_width) \
	$(addprefix search/,dfa grep ignore needle walk))
CFLAGS_release = -g1 -fPIE -ffunction-sections -fdata-sections \
	-fvisibility=hidden -fstack-protector-strong -fstack-clash-protection \
	-fno-strict-aliasing -fno-delete-null-pointer-checks \
	-ftrivial-auto-var-init=zero -fno-asynchronous-unwind-tables -fno-unwind-tables \
	-ffile-prefix-map=$(CURDIR)=. $(FLAGS_release_$(ARCH)) $(MUSL_INC)

SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all
CC_test = $(CROSS)gcc
CFLAGS_test = -O1 -g -fno-omit-frame-pointer $(SANITIZE)
LDFLAGS_test = $(SANITIZE)

CC_valgrind = $(CROSS)gcc
CFLAGS_valgrind = -O1 -g -fno-omit-frame-pointer

CC_fuzz = clang
CFLAGS_fuzz = -O1 -g -fno-omit-frame-pointer $(SANITIZE) -fsanitize=fuzzer-no-link
LDFLAGS_fuzz = $(SANITIZE) -fsanitize=fuzzer

AR = $(CROSS)ar
STRIP = $(CROSS)strip
OBJCOPY = $(CROSS)objcopy

# gcc's -static-pie with musl's specs makes a dynamic program in silence, hence
# by hand: rcrt1.o relocates the program itself, behind src/start.c, and there is no loader.
# Relocations are packed; for aarch64 only lld can do that, which does not align segments
# in the file either, where pages may have 64 KiB.
LINKER_x86_64 = -Wl,-z,separate-code,-z,pack-relative-relocs
LINKER_aarch64 = -fuse-ld=lld -B$(dir $(realpath $(shell command -v ld.lld))) \
	-Wl,--pack-dyn-relocs=relr
gccfile = $(shell $(CC_release) -print-file-name=$1)
LINK_release = $(CC_release) -nostdlib -nostartfiles -static-pie $(LINKER_$(ARCH)) \
	-Wl,-z,relro,-z,now,-z,noexecstack,-z,text,-u,od_start,-e,od_start \
	-Wl,--no-dynamic-linker,--gc-sections,--build-id=none,--fatal-warnings \
	-Wl,-Map=$@.map -o $@ $(MUSL_LIB)/rcrt1.o $(MUSL_LIB)/crti.o $(call gccfile,crtbeginS.o) $1 \
	-Wl,--start-group $(MUSL_LIB)/libc.a $(call gccfile,libgcc.a) \
	$(call gccfile,libgcc_eh.a) -Wl,--end-group \
	$(call gccfile,crtendS.o) $(MUSL_LIB)/crtn.o
LINK_test = $(CC_test) $(LDFLAGS_test) -o $@ $1
LINK_valgrind = $(CC_valgrind) -o $@ $1
LINK_fuzz = $(CC_fuzz) $(LDFLAGS_fuzz) -o $@ $1

# --- Rules for one kind of build --------------------------------------------------

define kind
$(B)/$1/obj/%.o: %.c Makefile third_party/src/.stamp | $(KERNEL_INC)
	@mkdir -p $$(@D)
	@echo "  CC   $$@"
	$$(Q)$$(CC_$1) $$(COMMON) $$(CFLAGS_$1) \
		$$(if $$(filter $$(FAST),$$*),$$(FAST_$1),$$(SMALL_$1)) $$(WARN) $$(WARN_$1) $$(WARN_$$(*D)) -MMD -MP -c -o $$@ $$<

$(B)/$1/lib.a: $(LIB_SRC:%.c=$(B)/$1/obj/%.o)
$(B)/$1/inject.a: $(INJECT_SRC:%.c=$(B)/$1/obj/%.o)
# q: two folders may have files of one name, and r would drop the first of them.
$(B)/$1/lib.a $(B)/$1/inject.a:
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $$(AR) qcsPD $$@ $$^

# What is included as it stands (base/embed.h); the compiler does not tell of it.
$(B)/$1/obj/src/kernel/driver_text.o: $(addprefix $(EMBED)/src/kernel/,driver.py.gz skills.py.gz)
$(B)/$1/obj/src/config.o: $(EMBED)/src/usage.txt.gz
$(B)/$1/obj/src/browser/page/element.o: $(EMBED)/src/browser/page/element.js.gz
$(B)/$1/obj/src/browser/observe/observe.o: $(EMBED)/src/browser/observe/mark.js.gz

$(B)/$1/third_party.a: Makefile third_party/build.mk third_party/src/.stamp | $(KERNEL_INC)
	@echo "  CC   third_party ($1)"
	+$$(Q)$$(MAKE) --no-print-directory -f third_party/build.mk LIB=$$@ \
		OUT=$$(@D)/obj/third_party CC='$$(CC_$1)' AR='$$(AR)' \
		CFLAGS='$$(CFLAGS_$1)' \
		FAST='$$(FAST_$1)' SMALL='$$(SMALL_THIRD_$1)'
	@touch $$@

$(B)/$1/od-runtime-client: $(B)/$1/obj/src/main.o $(B)/$1/lib.a $(B)/$1/third_party.a
$(B)/$1/od-plugins: $(B)/$1/obj/src/plugins_main.o $(B)/$1/lib.a $(B)/$1/third_party.a
$(addprefix $(B)/$1/,$(BOXED)):
	@echo "  LINK $$@"
	$$(Q)$$(call LINK_$1,$$^)

$(B)/$1/od-runtime: $(B)/$1/obj/inject/main.o $(B)/$1/inject.a $(B)/$1/lib.a \
		$(B)/$1/third_party.a
	@echo "  LINK $$@"
	$$(Q)$$(call LINK_$1,$$^)

# Tests of any folder: tests/unit/base/test_str.c is linked to KIND/unit/base/test_str.
$(B)/$1/%: $(B)/$1/obj/tests/%.o $(B)/$1/inject.a $(B)/$1/lib.a $(B)/$1/third_party.a
	@mkdir -p $$(@D)
	@echo "  LINK $$@"
	$$(Q)$$(call LINK_$1,$$^)
endef
$(foreach k,release test valgrind fuzz,$(eval $(call kind,$k)))
.SECONDARY:
.DELETE_ON_ERROR:

# musl's ioctl takes an int, in which half of the kernel's numbers are negative;
# clang dislikes assert(!"why") and the enums of glibc. gcc's test build checks both.
WARN_release = -Wno-sign-conversion
WARN_fuzz = -Wno-sign-conversion -Wno-string-conversion
WARN_tests/fuzz = -Wno-missing-prototypes
WARN_tests/patches = -isystem third_party/src/bearssl/src -Wno-format-nonliteral

-include $(shell test -d $(B) && find $(B) -name '*.d')

$(KERNEL_INC):
	@test -d $(KERNEL_ASM) || { \
		echo "$(KERNEL_ASM) is missing: apt-get install $(if $(CROSS),\
		linux-libc-dev-arm64-cross,linux-libc-dev)" >&2; exit 1; }
	@mkdir -p $@.new && ln -sfn $(KERNEL_FROM)/linux $@.new/linux && \
		ln -sfn $(KERNEL_FROM)/asm-generic $@.new/asm-generic && \
		ln -sfn $(KERNEL_ASM) $@.new/asm && mv -T $@.new $@

third_party/src/.stamp: third_party/pins third_party/fetch \
		$(wildcard third_party/patches/*/*.patch)
	third_party/fetch
	@touch $@

# --- Programs -----------------------------------------------------------------

# The unstripped twins stay in release/ for debuggers and for the link gate.
$(addprefix $(B)/,$(BOXED)): $(B)/%: $(B)/release/%
	@$(STRIP) -o $@ $<
	@printf '  DONE %s (%s bytes)\n' $@ "$$(stat -c %s $@)"

# The programs of a sandbox go into the host tool, and so do those of the other architecture
# if they are built from these sources; "make both" builds them.
OTHER_ARCH = $(filter-out $(ARCH),x86_64 aarch64)
OTHER_BOXED = $(wildcard $(addprefix $(BUILD)/$(OTHER_ARCH)/,$(BOXED)))
$(B)/od-runtime: $(B)/release/od-runtime $(addprefix $(B)/,$(BOXED)) $(OTHER_BOXED) tools/carry
	@$(STRIP) -o $@ $<
	@others=; for other in $(OTHER_BOXED); do \
		if [ "$$(find src third_party/pins -newer $$other -print -quit)" ]; then \
			echo "  $$other is older than the sources: left out"; \
		else others="$$others $$other"; fi; \
	done; tools/carry $(OBJCOPY) $@ $(addprefix $(B)/,$(BOXED)) $$others
	@printf '  DONE %s (%s bytes)\n' $@ "$$(stat -c %s $@)"

both:
	+$(Q)$(MAKE) --no-print-directory ARCH=$(OTHER_ARCH) \
		$(addprefix $(BUILD)/$(OTHER_ARCH)/,$(BOXED))
	+$(Q)$(MAKE) --no-print-directory ARCH=$(ARCH) all

# asan: the programs with sanitizers; valgrind: plain, against glibc
asan: $(addprefix $(B)/asan/,$(BOXED) od-runtime)
$(B)/asan/%: $(B)/test/%
	@mkdir -p $(@D) && cp $< $@
valgrind: $(addprefix $(B)/valgrind/,$(BOXED))

third_party: $(foreach k,release test,$(B)/$k/third_party.a)

# --- Tests --------------------------------------------------------------------

programs_of = $(patsubst tests/%.c,$(B)/$1/%,$2)
# The longest first, so that none of them runs on alone at the end.
E2E_LONG = $(addprefix %/test_,$(addsuffix .py,shells hostile transfer_faults \
	bare programs tls kill browser_pages kernels))
E2E_ALL := $(call files_below,tests/e2e,test_*.py)
E2E := $(filter $(E2E_LONG),$(E2E_ALL)) $(filter-out $(E2E_LONG),$(E2E_ALL))
TEST_ENV = OD_BUILD=$(abspath $(B)) OD_SOURCE=$(CURDIR) \
	UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_stack_use_after_return=1
PROVE = prove -j$(shell expr 2 "*" $$(nproc))
# One that hangs is ended, long after the slowest; those in Python end themselves before.
LIMIT = timeout --foreground -k 10 900
prove = $(TEST_ENV) $(PROVE) -e '$(LIMIT) $1' $2
# ONLY names the tests that are wanted: str, test_str, docs.t or a path.
named = $(filter $2 %/$2 %/$2.t %/$2.py %/test_$2 %/test_$2.py,$1)
wanted = $(if $(strip $(ONLY)),$(foreach w,$(ONLY),$(or $(call named,$1,$w),$(error there is no test $w))),$1)

test: unit integration e2e

# unit: code alone, in seconds. integration: what starts shells, kernels or other programs, and
# what computes for long. wanted applies ONLY to the goal that is named.
chosen = $(if $(filter $1,$(MAKECMDGOALS)),$(call wanted,$2),$2)
UNIT = $(call programs_of,test,$(UNIT_SRC)) $(call files_below,tests/unit,*.t)
INTEGRATION = $(call programs_of,test,$(INTEGRATION_SRC)) \
	$(call files_below,tests/integration,*.t) $(sort $(wildcard tests/patches/*.t))
unit: $(call chosen,unit,$(UNIT))
	$(call prove,,$^)
# It talks to the peer of the unit test.
tests/integration/net/tls_client.t: $(B)/test/unit/net/test_tls_client
integration: $(call chosen,integration,$(INTEGRATION))
	$(call prove,,$^)

# OD_CLIENT and OD_RUNTIME name the programs under test; they may be set.
OD_CLIENT = $(abspath $(B)/asan/od-runtime-client)
OD_RUNTIME = $(abspath $(B)/asan/od-runtime)
e2e: all asan
	$(MAKE) --no-print-directory e2e-run
e2e-run:
	$(call prove,,$(call wanted,$(E2E)))
e2e-run: export OD_CLIENT := $(OD_CLIENT)
e2e-run: export OD_RUNTIME := $(OD_RUNTIME)

# An emulator's own threads and children are in the way of the tests of init, of shells
# that hang and of kernels (programs of this machine); the splitter is compared with bash,
# each shell driven; the emulator makes up /proc/self/stat, which owner reads; and what comes in
# pieces is cut so often that it takes minutes there.
EMULATED_NOT = $(if $(RUN),$(addprefix %/test_,init store tree tree_end process owner split run_shell \
	run_document run_hang run_adopt vt_report kernel server conn zip ledger jmsg shell_raw))
test-release: $(filter-out $(EMULATED_NOT),$(call programs_of,release,$(UNIT_SRC) $(INTEGRATION_SRC)))
	$(call prove,$(RUN),$(call wanted,$^))

FUZZ_PROGRAMS := $(patsubst tests/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
fuzz-build: $(FUZZ_PROGRAMS)
fuzz: export FUZZ_SECONDS := $(FUZZ_SECONDS)
fuzz: $(FUZZ_PROGRAMS)
	$(PROVE) -e tests/fuzz/run $(or $(strip $(ONLY)),$^)
fuzz-%: $(B)/fuzz/fuzz/fuzz_%
	FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run $<

# What figures.py measures with is in C. ONLY names the steps that are wanted.
BENCH_PROGRAMS := $(patsubst tests/%.c,$(B)/release/%,$(wildcard tests/bench/*.c))
bench: all $(BENCH_PROGRAMS)
	$(Q)$(TEST_ENV) tests/bench/figures.py $(ONLY)

# --- Checks -------------------------------------------------------------------

check: linkgate layers lint subjects

linkgate: $(PROGRAMS) $(B)/release/lib.a $(B)/release/inject.a
	$(foreach p,$(PROGRAMS),tools/linkgate $p $(B)/release &&) true
	$(foreach p,$(addprefix $(B)/,$(BOXED)) $(OTHER_BOXED),tools/size $p $(BOXED_MAX_BYTES) &&) true

layers:
	tools/layers

# Only a clone has subjects.
subjects:
	$(Q)if git log -1 >/dev/null 2>&1; then tools/commit-msg --new; fi

compdb:
	$(Q)tools/compdb

hooks:
	mkdir -p "$$(git rev-parse --git-path hooks)"
	ln -sf "$(CURDIR)/tools/commit-msg" "$$(git rev-parse --git-path hooks)/commit-msg"

# The text rules at once; the analysers file by file, again only after a change.
ANALYSED = $(LIB_SRC) $(INJECT_SRC) $(wildcard $(MAINS))
lint: $(ANALYSED:%=$(B)/lint/%.ok) third_party/src/.stamp
	tools/lint
	tools/language
	tools/lint --cppcheck -DOD_VERSION='"$(VERSION)"'
$(B)/lint/%.ok: % .clang-tidy Makefile third_party/src/.stamp
	@mkdir -p $(@D)
	@echo "  LINT $<"
	$(Q)tools/lint --analyse $< -MMD -MP -MT $@ -MF $(@:.ok=.d) $(COMMON) $(WARN)
	@touch $@

# --- The rest -----------------------------------------------------------------

format:
	clang-format -i $$(git ls-files "src/*.[ch]" "inject/*.[ch]")

repro:
	tools/repro $(ARCH)

NAME = od-runtime-$(VERSION)
dist: third_party/src/.stamp
	@rm -rf dist/$(NAME) && mkdir -p dist/$(NAME)
	git archive HEAD | tar -x -C dist/$(NAME)
	cp -r third_party/src/archives dist/$(NAME)/third_party/
	tar -C dist --sort=name --owner=0 --group=0 --numeric-owner \
		--mtime=@$$(git log -1 --format=%ct) -cf - $(NAME) | \
		gzip -9n >dist/$(NAME).tar.gz
	@rm -rf dist/$(NAME) && ls -l dist/$(NAME).tar.gz

# What od-runtime gives to images without a shell; it looks whether it is static.
BUSYBOX = $(if $(CROSS),,$(wildcard /bin/busybox))
SHARE = $(DESTDIR)$(PREFIX)/share
FOLDERS = bash-completion/completions zsh/site-functions fish/vendor_completions.d man/man1
install: $(PROGRAMS)
	install -d $(DESTDIR)$(PREFIX)/bin $(addprefix $(SHARE)/,$(FOLDERS))
	install -m 755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin/
	$(RUN) $(B)/od-runtime man >$(SHARE)/man/man1/od-runtime.1
	$(RUN) $(B)/od-runtime completion bash \
		>$(SHARE)/bash-completion/completions/od-runtime
	$(RUN) $(B)/od-runtime completion zsh >$(SHARE)/zsh/site-functions/_od-runtime
	$(RUN) $(B)/od-runtime completion fish \
		>$(SHARE)/fish/vendor_completions.d/od-runtime.fish
	$(if $(BUSYBOX),install -m 755 $(BUSYBOX) $(DESTDIR)$(PREFIX)/bin/od-busybox)

help:
	@sed '/^$$/q; s/^# \{0,1\}//' Makefile
	@tests/bench/figures.py --help | sed -n '/^steps:/,$$p'

docs: $(B)/od-runtime
	$(RUN) $< man markdown >docs/commands.md

clean:
	rm -rf $(BUILD) dist

.PHONY: all both asan valgrind third_party test unit integration e2e e2e-run test-release fuzz fuzz-build bench check \
	linkgate layers lint subjects compdb hooks format repro dist install docs help clean
