// SPDX-License-Identifier: BSD-3-Clause
// Any octets as messages of the kernel about routes, links and next-hop objects, in memory that
// ends with them. The field of a message with the sender's number, which the mirror does not read,
// determines whether it is part of a dump, and whether a dump begins or ends before. Proves that
// the mirror's owner knows the same routes as the mirror, within the limit, and that nothing is
// left of them.
#include <linux/rtnetlink.h>

#include <libmnl/libmnl.h>

#include "fuzz.h"
#include "mirror_known.h"
#include "test.h"

#define ROUTES_MAX 40

enum {
	DUMPED = 1,
	DUMP_BEGINS = 2,
	DUMP_ENDS = 4,
	WORK = 8,
};

static struct mirror_store store;
static struct mirror_known known;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void prepare(unsigned int how)
{
	if ((how & DUMP_BEGINS) != 0 && !store.dumping && mirror_store_is_settled(&store))
		mirror_store_dump_begins(&store);
	if ((how & DUMP_ENDS) != 0 && store.dumping) {
		mirror_links_purge(&store.nexthops);
		mirror_objects_purge(&store.nexthops);
		mirror_store_dump_ended(&store);
	}
	if ((how & WORK) != 0)
		mirror_store_work(&store, 700);
}

static void apply(const struct nlmsghdr *n)
{
	static struct mirror_message m;
	bool dumped = (n->nlmsg_pid & DUMPED) != 0 && store.dumping;

	prepare(n->nlmsg_pid);
	if (mirror_message_read(&m, n) < 0)
		return;
	assert_in_range(m.path.n_hops, 0, MIRROR_HOPS_MAX);
	assert_in_range(m.to.len, 0, 128);
	assert_int_equal(m.name[sizeof(m.name) - 1], '\0');
	if (m.about == MIRROR_ROUTE)
		mirror_store_apply(&store, &m, m.protocol != RTPROT_KERNEL, dumped);
	else if (m.about == MIRROR_LINK)
		mirror_link_apply(&store.nexthops, &m, dumped);
	else if (m.about == MIRROR_NEXTHOP)
		mirror_object_apply(&store.nexthops, &m, dumped);
	mirror_known_check(&known, &store);
	assert_in_range(store.n, 0, ROUTES_MAX);
}

// After a dump without a record nothing is left.
static void withdraw(void)
{
	prepare(DUMP_ENDS);
	while (mirror_store_work(&store, 1000))
		;
	prepare(DUMP_BEGINS);
	prepare(DUMP_ENDS);
	while (mirror_store_work(&store, 1000))
		;
	assert_int_equal(known.n, 0);
	assert_int_equal(store.n, 0);
	assert_int_equal(store.routes.n_nodes, 0);
	assert_int_equal(store.nexthops.objects.n_nodes, 0);
	assert_int_equal(store.nexthops.paths.n_hops, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct nlmsghdr *messages = malloc(len > 0 ? len : 1);
	int left = (int)len;

	memcpy(messages, input, len);
	assert_int_equal(mirror_store_open(&store, ROUTES_MAX, mirror_known_changed, &known), 0);
	for (const struct nlmsghdr *n = messages; mirror_message_is_whole(n, left);
		n = mnl_nlmsg_next(n, &left))
		apply(n);
	withdraw();
	mirror_store_close(&store);
	mirror_known_free(&known);
	free(messages);
	return 0;
}
