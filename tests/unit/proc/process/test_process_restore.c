/* Processes that a server which was killed has left behind. */
#include "tests/support/process_stage.h"

static void keep(struct processes *to, const char *name, int fd, pid_t pid, int *status)
{
	struct store_record r = {.op = STORE_PUT, .pid = pid, .exited = status != NULL};

	if (fd < 0)
		return;
	r.status = status ? *status : 0;
	snprintf(r.name, sizeof(r.name), "%s", name);
	if (!processes_restore_fd(to, &r, fd_dup(fd, 3)))
		ok(false, "%s is kept", name);
}

/* As after a kill: descriptors come back in any order, and nothing was tidied up. */
static struct process *restart(struct process *p, int *status)
{
	struct processes *next = processes_new(&conf);
	struct process_stdin_record saved;
	struct str id = STR("p77");
	pid_t pid = p->record->pid;

	p->number = 77;
	keep(next, "proc:p77:2s", p->out[1].spool.fd, 0, NULL);
	keep(next, "proc:p77:0w", p->in.stage[1], 0, NULL);
	keep(next, "proc:p77:1", p->out[0].fd, 0, NULL);
	keep(next, "proc:p77", p->record_fd, pid, status);
	keep(next, "proc:p77:0", p->record->pty ? -1 : p->in.fd, 0, NULL);
	keep(next, "proc:p77:1s", p->out[0].spool.fd, 0, NULL);
	keep(next, "proc:p77:0r", p->in.stage[0], 0, NULL);
	keep(next, "proc:p77:2", p->out[1].fd, 0, NULL);
	keep(next, "proc:table", all->table.fd, 0, NULL);
	children_forget(&p->child);
	/* A kill closes nothing in the record. */
	saved = p->record->in;
	processes_del(all);
	all = next;
	p = LIST_FIRST(&all->list, struct process, node);
	if (pwrite(p->record_fd, &saved, sizeof(saved),
		    offsetof(struct process_record, in)) != sizeof(saved))
		ok(false, "the record is as it was");
	processes_restore(all);
	p = process_find(all, id);
	if (p && !has_exited(p))
		children_watch(&p->child, pid, process_on_child_exit);
	return p;
}

static void check_restore(void)
{
	struct process_spec spec = spec_of(NULL);
	struct process_output o;
	struct process *p;
	int status = 5 << 8;

	spec.takes_stdin = true;
	p = begin_shell("echo one; cat; exit 4", &spec);
	wait_for(p, has_output);
	is_int(process_stdin_write(p, STR("two")), 3, "three bytes");
	p = restart(p, NULL);
	ok(p && process_state(p) == PROCESS_RUNNING, "a process goes on");
	is_int((long long)p->record->in.taken, 3, "the bytes taken are known");
	is_int(process_stdin_write(p, STR("three")), 5, "more follow");
	process_stdin_end(p);
	wait_for(p, is_over);
	is_view(output_of(p, 0), "one\ntwothree", "each byte once");
	is_int(WEXITSTATUS(process_get_exit(p)->status), 4, "its exit is noticed");
	p = restart(p, NULL);
	ok(p && has_exited(p), "one that has ended is known");
	is_int(WEXITSTATUS(process_get_exit(p)->status), 4, "with its exit code");
	is_view(output_of(p, 0), "one\ntwothree", "and its output");
	process_output(p, 0, &o);
	ok(!o.open && o.at_exit == 12, "which is complete");
	remove_it(p);

	/* It ended when there was no server; the number of init counts. */
	p = shell("echo last; sleep 1000");
	wait_for(p, has_output);
	kill(p->record->pid, SIGKILL);
	p = restart(p, &status);
	ok(p && has_exited(p), "one that ended meanwhile");
	is_int(WEXITSTATUS(process_get_exit(p)->status), 5, "with what init says");
	is_view(output_of(p, 0), "last\n", "and what it had written");
	remove_it(p);
}

static void check_restore_states(void)
{
	struct process_spec spec = spec_of(NULL);
	struct process *p = shell("sleep 1000");
	pid_t pid = p->record->pid;

	/* Before its gate was opened. */
	p->record->state = PROCESS_STARTING;
	p->record->released = false;
	p = restart(p, NULL);
	ok(!p, "a start that was not completed is none");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	p = shell("sleep 1000");
	p->record->state = PROCESS_STARTING;
	p = restart(p, NULL);
	ok(p && process_state(p) == PROCESS_RUNNING, "one whose gate was opened runs");
	p->record->killed = true;
	kill(p->record->pid, SIGSTOP);
	p = restart(p, NULL);
	wait_for(p, has_exited);
	is_int(WTERMSIG(process_get_exit(p)->status), SIGKILL, "a kill goes on");
	remove_it(p);

	p = shell("sleep 1000");
	p->record->size++;
	pid = p->record->pid;
	p = restart(p, NULL);
	ok(!p, "a record of another version is let go of");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	turn();

	spec.pty = true;
	p = begin_shell("echo one; read x; echo $x", &spec);
	wait_for(p, has_output);
	p = restart(p, NULL);
	is_int(process_stdin_write(p, STR("two\n")), 4, "a pty takes keys again");
	wait_for(p, is_over);
	is_view(output_of(p, 0), "one\r\ntwo\r\ntwo\r\n", "and shows all");
	remove_it(p);
}

/* Kills between the steps of the stage of stdin. */
static void check_restore_stage(void)
{
	struct process_spec spec = spec_of(NULL);
	struct process *p;

	spec.takes_stdin = true;
	p = begin_shell("cat", &spec);
	/* Two bytes have come into the stage, and that was not noted. */
	p->record->in.stage = STAGE_FILLS;
	is_int(write(p->in.stage[1], "ab", 2), 2, "two bytes in the stage");
	p = restart(p, NULL);
	is_int((long long)p->record->in.taken, 2, "are counted");
	is_int(process_stdin_write(p, STR("cd")), 2, "two more");
	/* A byte that has left the stage without a note of it. */
	p->record->in.held_then = 1;
	p->record->in.taken_then = 4;
	p->record->in.stage = STAGE_DRAINS;
	p = restart(p, NULL);
	is_int((long long)p->record->in.taken, 4, "none is counted twice");
	process_stdin_end(p);
	wait_for(p, is_over);
	is_view(output_of(p, 0), "abcd", "each arrives once");
	remove_it(p);
}

static void check_foreign_names(void)
{
	static const char *const names[] = {"listen", "proc:", "proc:x1", "proc:p",
		"proc:p1:9", "proc:p99999999999999999999", "pty:p1"};
	struct store_record r = {.op = STORE_PUT};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(r.name, sizeof(r.name), "%s", names[i]);
		ok(!processes_restore_fd(all, &r, -1), "%s is no process", names[i]);
	}
	processes_restore(all);
	turn();
	ok(list_is_empty(&all->list), "and leaves none");
}

int main(void)
{
	if (!begin_stage())
		return 1;
	check_restore();
	check_restore_states();
	check_restore_stage();
	check_foreign_names();
	end_stage();
	return done_testing();
}
