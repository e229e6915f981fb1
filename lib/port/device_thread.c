// SPDX-License-Identifier: BSD-3-Clause
#include "device_thread.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "capability.h"
#include "device_bus.h"
#include "device_capability.h"
#include "device_kernel.h"
#include "device_watch.h"
#include "log.h"
#include "port.h"
#include "port_try.h"
#include "sem_await.h"

#define LOOK_MS   100   // how often to look whether a device is present
#define WORKS_MS  1000  // one that is lost sooner has failed as well
#define LEAVES_MS 1000  // in which the kernel removes a card that was closed for that
#define DELAY_MIN 1000  // milliseconds from the first failure to the next try; twice as long after
#define DELAY_MAX 30000 // each other one, up to this
#define STOP_MS   5000

enum device_stage {
	NOT_HERE, // another thread has the port
	TO_BE_TRIED,
	TO_BE_OPENED,
	TO_BE_CLOSED,
	TO_BE_RESTARTED,
	TO_BE_DROPPED, // whatever it was before
	OPENED,
};

struct thread_device {
	_Atomic enum device_stage stage;
	struct port_rules *_Atomic rules; // to be changed, until that is done; else NULL
	struct port port;                 // result: the opened device
	bool is_open;                     // and the thread has it
	const struct conf *tried;         // the configuration that is to add the port
	char why[DEVICE_WHY_SIZE];        // result: the reason why it did not open
	uint64_t opened_ms, next_ms;      // when it was opened last, and when it is tried next
	unsigned int failures;            // since it worked
	bool reported;                    // the last try has failed, and was logged
};

static struct {
	struct control *control;
	struct port *ports; // by number
	pthread_t thread;
	pid_t tid;
	bool runs;
	uint64_t kept; // capabilities
	sem_t wake;    // the thread
	sem_t ready; // posted by the thread when it has begun, when it is confined, and at its end
	atomic_bool confine, stop;
	atomic_bool listen;   // the link addresses that ports receive have changed
	int confined;         // result
	pthread_mutex_t conf; // held while the thread uses the configuration
	struct thread_device device[PORTS_MAX];
} t = {.conf = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now_ms(void)
{
	return t.control->io->now_ms();
}

// --- its capabilities ---

static int lower(void)
{
	return capabilities_set(t.kept, 0);
}

static void raise_port(const struct conf *conf, const struct conf_port *c)
{
	uint64_t needed = devices_capabilities(&conf->devices[c->devices], conf_port_n_devices(c));

	capabilities_set(t.kept, t.kept & needed);
}

// --- its work ---

static const struct conf *conf_current(void)
{
	const struct conf *conf;

	pthread_mutex_lock(&t.control->lock);
	conf = t.control->conf;
	pthread_mutex_unlock(&t.control->lock);
	return conf;
}

static void device_failed(struct thread_device *d)
{
	unsigned int delay = DELAY_MIN << RTE_MIN(d->failures, 16u);

	d->failures++;
	d->next_ms = now_ms() + RTE_MIN(delay, (unsigned int)DELAY_MAX);
}

// Taking in all multicast frames, which some devices have to, needs the capabilities.
static void groups_set(struct thread_device *d, unsigned int port)
{
	const struct port *p = &t.ports[port];

	d->port.n_macs = 0;
	pthread_mutex_lock(&t.control->lock);
	memcpy(d->port.groups, p->groups, sizeof(d->port.groups));
	d->port.n_groups = p->n_groups;
	port_groups_set(&d->port);
	pthread_mutex_unlock(&t.control->lock);
}

// Ends a step, unless the port is to be dropped meanwhile.
static void step_end(struct thread_device *d, enum device_stage from, enum device_stage to)
{
	atomic_compare_exchange_strong_explicit(
		&d->stage, &from, to, memory_order_acq_rel, memory_order_relaxed);
}

static void device_try(struct thread_device *d, unsigned int port)
{
	d->why[0] = '\0';
	log_error_keep(d->why, sizeof(d->why));
	raise_port(d->tried, &d->tried->ports[port]);
	d->is_open = port_try(&d->port, d->tried, port, t.control->pool) == 0;
	lower();
	log_error_keep(NULL, 0);
	step_end(d, TO_BE_TRIED, d->is_open ? OPENED : NOT_HERE);
}

// The configuration that the device was opened with may not exist any more.
static void device_drop(struct thread_device *d, unsigned int port)
{
	capabilities_set(t.kept, t.kept);
	port_drop(d->is_open ? &d->port : NULL, port);
	lower();
	d->is_open = d->reported = false;
	d->opened_ms = d->next_ms = 0;
	step_end(d, TO_BE_DROPPED, NOT_HERE);
}

// A device that still cannot be opened is not reported again.
static void device_open(struct thread_device *d, const struct conf *conf, unsigned int port)
{
	const struct conf_port *c = &conf->ports[port];
	int rc;

	if (!device_is_on_bus(c->device))
		d->reported = false; // it will be another card
	if (now_ms() < d->next_ms || !port_is_present(conf, c) ||
		atomic_load_explicit(&t.stop, memory_order_acquire))
		return;
	log_mute(d->reported);
	raise_port(conf, c);
	rc = port_open(&d->port, conf, c, t.control->pool);
	if (rc == 0)
		groups_set(d, port);
	lower();
	log_mute(false);
	d->reported = rc < 0;
	if (rc < 0) {
		device_failed(d);
		return;
	}
	d->opened_ms = now_ms();
	d->is_open = true;
	step_end(d, TO_BE_OPENED, OPENED);
}

// A card that is to be removed is on its bus until it is closed, and a moment longer: there is
// nothing to be opened yet.
static unsigned int pause_of(const struct conf *conf, const struct conf_port *c)
{
	for (unsigned int i = 0; i < conf_port_n_devices(c); i++)
		if (!conf_device_is_virtual(conf->devices[c->devices + i].device))
			return LEAVES_MS;
	return 0;
}

static void close_one(const struct port *p, unsigned int port)
{
	t.device[port].rules = NULL; // they go with the device
	capabilities_set(t.kept, t.kept);
	port_close(p);
	lower();
}

// The configuration is at least as new as the step, which may have begun while the thread opened
// another device. If it lacks the port, that is to be dropped.
static void device_serve(unsigned int port)
{
	struct thread_device *d = &t.device[port];
	enum device_stage stage = atomic_load_explicit(&d->stage, memory_order_acquire);
	const struct conf *conf = conf_current();

	if (stage == TO_BE_RESTARTED) {
		vhost_link_settle(d->port.id);
		step_end(d, TO_BE_RESTARTED, OPENED);
	}
	if (stage == TO_BE_TRIED)
		device_try(d, port);
	if (stage == TO_BE_DROPPED)
		device_drop(d, port);
	if (stage == TO_BE_CLOSED) {
		close_one(&d->port, port);
		d->next_ms = RTE_MAX(d->next_ms, now_ms() + pause_of(conf, &conf->ports[port]));
		d->is_open = false;
		stage = d->port.returns ? TO_BE_OPENED : NOT_HERE;
		step_end(d, TO_BE_CLOSED, stage);
	}
	if (stage == TO_BE_OPENED && !conf_port_is_free(&conf->ports[port]))
		device_open(d, conf, port);
}

static void rules_change(unsigned int port, const struct conf *conf)
{
	struct thread_device *d = &t.device[port];

	if (d->rules == NULL)
		return;
	raise_port(conf, &conf->ports[port]);
	port_rules_steer(d->rules, &conf->ports[port]);
	lower();
	d->rules = NULL;
}

static bool has_work(void)
{
	for (unsigned int i = 0; i < PORTS_MAX; i++) {
		enum device_stage stage =
			atomic_load_explicit(&t.device[i].stage, memory_order_acquire);

		if ((stage != NOT_HERE && stage != OPENED) || t.device[i].rules != NULL)
			return true;
	}
	return false;
}

static void serve(void)
{
	const struct conf *conf;

	pthread_mutex_lock(&t.conf);
	for (unsigned int i = 0; i < PORTS_MAX; i++)
		device_serve(i);
	conf = conf_current();
	for (unsigned int i = 0; i < conf->n_ports; i++)
		rules_change(i, conf);
	pthread_mutex_unlock(&t.conf);
}

static void kernel_serve(void)
{
	pthread_mutex_lock(&t.conf);
	device_kernel_serve(t.kept, conf_current);
	pthread_mutex_unlock(&t.conf);
}

static void listen_set(void)
{
	const struct conf *conf;

	pthread_mutex_lock(&t.conf);
	conf = conf_current();
	for (unsigned int i = 0; i < conf->n_ports; i++) {
		struct port *p = &t.ports[i];

		raise_port(conf, &conf->ports[i]);
		pthread_mutex_lock(&t.control->lock);
		if (p->parent == NULL && port_is_open(p)) {
			port_vlans_set(p, conf);
			port_groups_set(p);
		}
		pthread_mutex_unlock(&t.control->lock);
		lower();
	}
	pthread_mutex_unlock(&t.conf);
}

// Whether the thread has an open device of the port.
static bool is_here(const struct thread_device *d)
{
	return atomic_load_explicit(&d->stage, memory_order_acquire) != NOT_HERE && d->is_open;
}

static void close_all(void)
{
	const struct conf *conf = t.control->conf;

	for (unsigned int i = 0; i < PORTS_MAX; i++)
		if (is_here(&t.device[i]))
			close_one(&t.device[i].port, i);
		else if (i < conf->n_ports &&
			 atomic_load_explicit(&t.ports[i].open, memory_order_relaxed))
			close_one(&t.ports[i], i);
}

static void *thread_run(void *arg)
{
	(void)arg;
	t.tid = gettid();
	prctl(PR_SET_KEEPCAPS, 1); // which privilege_drop() would take
	sem_post(&t.ready);
	while (!atomic_load_explicit(&t.stop, memory_order_acquire)) {
		if (has_work())
			sem_await(&t.wake, LOOK_MS);
		else
			sem_await_ever(&t.wake);
		if (atomic_exchange_explicit(&t.confine, false, memory_order_acquire)) {
			t.confined = lower();
			sem_post(&t.ready);
		}
		kernel_serve();
		if (atomic_exchange_explicit(&t.listen, false, memory_order_acquire))
			listen_set();
		if (has_work())
			serve();
	}
	kernel_serve();
	close_all();
	sem_post(&t.ready);
	return NULL;
}

int device_thread_start(struct control *c, struct port ports[])
{
	int rc;

	t.control = c;
	t.ports = ports;
	t.kept = devices_capabilities(c->conf->devices, c->conf->n_devices);
	t.kept |= device_kernel_capabilities(c->conf);
	t.kept &= capabilities_get().permitted;
	sem_init(&t.wake, 0, 0);
	sem_init(&t.ready, 0, 0);
	rc = pthread_create(&t.thread, NULL, thread_run, NULL);
	if (rc != 0) {
		log_error("cannot start the thread that opens devices: %s", strerror(rc));
		return -rc;
	}
	t.runs = true;
	pthread_setname_np(t.thread, "culvert-device");
	sem_await_ever(&t.ready);
	return 0;
}

pid_t device_thread_tid(void)
{
	return t.tid;
}

int device_thread_confine(void)
{
	atomic_store_explicit(&t.confine, true, memory_order_release);
	sem_post(&t.wake);
	sem_await_ever(&t.ready);
	if (t.confined < 0)
		log_error("cannot drop capabilities: %s", strerror(-t.confined));
	return t.confined;
}

void device_thread_give(unsigned int port, enum device_task task)
{
	static const enum device_stage stages[] = {
		[DEVICE_OPEN] = TO_BE_OPENED,
		[DEVICE_REPLACE] = TO_BE_CLOSED,
		[DEVICE_RESTART] = TO_BE_RESTARTED,
		[DEVICE_DROP] = TO_BE_DROPPED,
	};
	const struct port *p = &t.ports[port];
	struct thread_device *d = &t.device[port];

	if (task != DEVICE_RESTART && d->opened_ms != 0 && now_ms() - d->opened_ms < WORKS_MS)
		device_failed(d);
	else
		d->failures = 0;
	d->port = *p;
	d->is_open = task != DEVICE_OPEN;
	atomic_store_explicit(&d->stage, stages[task], memory_order_release);
	sem_post(&t.wake);
}

bool device_thread_take(unsigned int port, struct port *opened)
{
	struct thread_device *d = &t.device[port];

	if (atomic_load_explicit(&d->stage, memory_order_acquire) != OPENED)
		return false;
	*opened = d->port;
	atomic_store_explicit(&d->stage, NOT_HERE, memory_order_relaxed);
	return true;
}

void device_thread_try(unsigned int port, const struct conf *conf)
{
	struct thread_device *d = &t.device[port];

	d->tried = conf;
	d->failures = 0;
	atomic_store_explicit(&d->stage, TO_BE_TRIED, memory_order_release);
	sem_post(&t.wake);
}

bool device_thread_tries(unsigned int port)
{
	return atomic_load_explicit(&t.device[port].stage, memory_order_acquire) == TO_BE_TRIED;
}

const struct port *device_thread_tried(unsigned int port, const char **why)
{
	const struct thread_device *d = &t.device[port];

	*why = d->why;
	return atomic_load_explicit(&d->stage, memory_order_acquire) == OPENED ? &d->port : NULL;
}

bool device_thread_may_open(const struct conf_port *c)
{
	return (devices_capabilities(c, 1) & ~t.kept) == 0;
}

void device_thread_drop(unsigned int port)
{
	atomic_store_explicit(&t.device[port].stage, TO_BE_DROPPED, memory_order_release);
	sem_post(&t.wake);
}

bool device_thread_has(unsigned int port)
{
	return atomic_load_explicit(&t.device[port].stage, memory_order_acquire) != NOT_HERE;
}

void device_thread_steer(unsigned int port, const struct snapshot *s)
{
	struct port_rules *r = t.ports[port].rules;

	if (r == NULL || t.device[port].rules != NULL || !port_rules_plan(r, s))
		return;
	t.device[port].rules = r;
	sem_post(&t.wake);
}

void device_thread_hosts_give(struct host_thread *h)
{
	const struct timespec end = time_in(STOP_MS);

	if (pthread_mutex_clocklock(&t.conf, CLOCK_MONOTONIC, &end) != 0)
		return; // it hangs in a driver, as device_thread_stop() will find
	device_kernel_give(h);
	pthread_mutex_unlock(&t.conf);
}

void device_thread_hosts_change(void)
{
	if (device_kernel_hosts_change())
		sem_post(&t.wake);
}

void device_thread_announce(void)
{
	device_kernel_announce();
	sem_post(&t.wake);
}

void device_thread_listen(void)
{
	atomic_store_explicit(&t.listen, true, memory_order_release);
	sem_post(&t.wake);
}

void device_thread_conf_free(struct conf *conf)
{
	pthread_mutex_lock(&t.conf);
	conf_free(conf);
	pthread_mutex_unlock(&t.conf);
}

bool device_thread_stop(void)
{
	if (!t.runs)
		return true;
	atomic_store_explicit(&t.stop, true, memory_order_release);
	sem_post(&t.wake);
	if (!sem_await(&t.ready, STOP_MS))
		return false;
	pthread_join(t.thread, NULL);
	return true;
}
