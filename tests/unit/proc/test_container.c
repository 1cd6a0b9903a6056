#include "proc/container.h"
#include "tests/tap.h"

#define FIRST_PID 0xeffffffc
#define FIRST_IPC 0xefffffff
#define FIRST_UTS 0xeffffffe
#define OWN 4026532184

#define MACHINE \
	"22 27 0:21 / /proc rw,relatime - proc proc rw\n" \
	"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
#define ROOT "600 500 0:52 / / rw,relatime master:9 - overlay overlay rw,lowerdir=/l\n"
#define HOSTS "611 600 254:0 /var/lib/c/1/hosts /etc/hosts rw - ext4 /dev/vda rw\n"
#define HOSTNAME "612 600 254:0 /c/1/hostname /etc/hostname rw - ext4 /dev/vda rw\n"
#define RESOLV "613 600 254:0 /c/1/resolv.conf /etc/resolv.conf rw - ext4 /dev/vda rw\n"
/* As runsc shows them. */
#define GVISOR \
	"8 8 0:8 / / rw  - 9p none rw\n13 8 0:12 / /etc/hosts ro  - 9p none ro\n" \
	"14 8 0:13 / /etc/hostname ro  - 9p none ro\n"

static const struct {
	const char *name;
	uint64_t pid, ipc, uts;
	bool is_first;
	const char *mounts;
	bool want;
} cases[] = {
	{"a machine", FIRST_PID, FIRST_IPC, FIRST_UTS, false, MACHINE, false},
	{"a machine whose root is an overlay", FIRST_PID, FIRST_IPC, FIRST_UTS, false,
		ROOT, false},
	{"a machine that mounts its own files", FIRST_PID, FIRST_IPC, FIRST_UTS, false,
		MACHINE HOSTNAME HOSTS RESOLV, false},
	{"a virtual machine whose process 1 is this program", FIRST_PID, FIRST_IPC,
		FIRST_UTS, true, MACHINE, true},
	{"Docker, containerd, CRI-O, Podman", OWN, OWN, OWN, false,
		ROOT RESOLV HOSTNAME HOSTS, true},
	{"this program as process 1 there", OWN, OWN, OWN, true,
		ROOT RESOLV HOSTNAME HOSTS, true},
	{"--pid=host", FIRST_PID, OWN, OWN, false, ROOT RESOLV HOSTNAME HOSTS, true},
	{"--pid=host --ipc=host", FIRST_PID, FIRST_IPC, OWN, false, ROOT HOSTNAME HOSTS,
		true},
	{"all namespaces of the host", FIRST_PID, FIRST_IPC, FIRST_UTS, false,
		ROOT RESOLV HOSTNAME HOSTS, false},
	{"Podman with --no-hosts", OWN, OWN, OWN, false, ROOT RESOLV HOSTNAME, true},
	{"gVisor, which shows one namespace", 205, 0, 0, true, GVISOR, true},
	{"unshare --pid on a machine", OWN, FIRST_IPC, FIRST_UTS, false, MACHINE, false},
	{"process 1 of unshare --pid", OWN, FIRST_IPC, FIRST_UTS, true, MACHINE, false},
	{"unshare of all namespaces", OWN, OWN, OWN, true, MACHINE, false},
	{"ip netns exec, which mounts files", FIRST_PID, FIRST_IPC, FIRST_UTS, false,
		MACHINE RESOLV HOSTS, false},
	{"a service that one file is mounted for", FIRST_PID, OWN, OWN, false,
		MACHINE RESOLV, false},
	{"a file that is mounted twice", OWN, OWN, OWN, false, ROOT HOSTS HOSTS, false},
	{"files of a similar name", OWN, OWN, OWN, false,
		ROOT "1 2 0:1 / /etc/hosts.d rw - x x rw\n"
		     "1 2 0:1 / /x/etc/hostname r - x x r\n"
		     "1 2 0:1 /etc/hosts /srv rw - x x rw\n",
		false},
	{"no /proc", 0, 0, 0, false, "", false},
	{"no /proc, as process 1", 0, 0, 0, true, "", false},
	{"no namespaces shown", 0, 0, 0, false, ROOT RESOLV HOSTNAME HOSTS, false},
	{"lines that are cut", OWN, OWN, OWN, false, "1\n1 2\n\n 1 2 3 4 5\n/etc/hosts",
		false},
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct container_facts facts = {
			.pid_ns = cases[i].pid,
			.ipc_ns = cases[i].ipc,
			.uts_ns = cases[i].uts,
			.is_first = cases[i].is_first,
			.mounts = str_c(cases[i].mounts),
		};

		ok(container_is_proved(&facts) == cases[i].want, "%s: %s", cases[i].name,
			cases[i].want ? "a container" : "not proved");
	}
	return done_testing();
}
