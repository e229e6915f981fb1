// SPDX-License-Identifier: BSD-3-Clause
// Own IPv6 addresses: checked before they are used, duplicates checked again; their groups are
// reported to the link.
#include <netinet/in.h>

#include "address.h"
#include "arp.h"
#include "desk.h"
#include "mld.h"
#include "nd.h"

static struct nd_message nd_of(const struct frame *f)
{
	struct nd_message m;

	assert_int_equal(nd_read(&m, (const struct rte_ipv6_hdr *)(f->b + ETH_LEN)), ND_GOOD);
	return m;
}

static bool is_nd(const struct frame *f)
{
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)(f->b + ETH_LEN);

	return f->b[12] == 0x86 && ip->proto == IPPROTO_ICMPV6;
}

static bool is_mld(const struct frame *f)
{
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)(f->b + ETH_LEN);

	return f->b[12] == 0x86 && ip->proto == IPPROTO_HOPOPTS;
}

// How many messages of neighbour discovery about an address were sent.
static unsigned int sent_about(const char *addr, enum nd_kind kind)
{
	struct ip_addr target = addr_of(addr);
	unsigned int n = 0;

	for (unsigned int i = 0; i < desk_n_sent; i++)
		if (is_nd(&desk_sent[i])) {
			struct nd_message m = nd_of(&desk_sent[i]);

			n += m.kind == kind && ip_addr_equal(&m.target, &target);
		}
	return n;
}

static unsigned int reports_sent(uint16_t port)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < desk_n_sent; i++)
		n += is_mld(&desk_sent[i]) && desk_sent[i].port == port;
	return n;
}

static enum dad_state state_of(uint16_t port, const char *addr)
{
	struct ip_addr a = addr_of(addr);

	return dad_state(desk.dad, port, &a);
}

static struct event duplicate(uint16_t port, const char *addr)
{
	return (struct event){.kind = EVENT_DAD_HEARD,
		.port = port,
		.addr = addr_of(addr),
		.mac = {{2, 9, 9, 9, 9, 9}}};
}

static void test_assigned(void **state)
{
	(void)state;
	assert_int_equal(desk_sa_out("out-6")->sa.per_packet.stop, DROP_ADDR_UNUSABLE);
	assert_int_equal(desk_sa_out("out-4")->sa.per_packet.stop, DROP_NONE);
	desk_wait(100);
	assert_int_equal(sent_about("2001:db8:f::1", ND_SOLICITATION), 1);
	assert_in_range(reports_sent(WAN), 1, 10);
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_TENTATIVE);
	desk_wait(1500);
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_ASSIGNED);
	assert_int_equal(sent_about("2001:db8:f::1", ND_ADVERTISEMENT), 1);
	assert_int_equal(desk_sa_out("out-6")->sa.per_packet.stop, DROP_NONE);
	assert_int_equal(desk_sa_in("in-6")->sa.per_packet.stop, DROP_NONE);
}

static void test_duplicate(void **state)
{
	(void)state;
	desk_wait(100);
	desk_event(duplicate(WAN, "2001:db8:f::1"));
	desk_wait(2000);
	desk_expect_log("address 2001:db8:f::1 is another station's and is not used");
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_DUPLICATE);
	assert_int_equal(desk_sa_out("out-6")->sa.per_packet.stop, DROP_ADDR_UNUSABLE);
	assert_int_equal(state_of(LAN, "2001:db8:1::1"), DAD_ASSIGNED);
	desk_wait(10000); // nobody claims it any more
	desk_expect_log("address 2001:db8:f::1 is used again");
	assert_int_equal(desk_sa_out("out-6")->sa.per_packet.stop, DROP_NONE);
}

// Once it is assigned, another station does not take it away.
static void test_assigned_address_is_kept(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_forget();
	desk_event(duplicate(WAN, "2001:db8:f::1"));
	desk_event(duplicate(WAN, "2001:db8:f::1")); // within the same second
	desk_expect_event("event=address_conflict\tseverity=warning\tport=wan\t"
			  "address=2001:db8:f::1\tmac=02:09:09:09:09:09");
	desk_expect_no_event();
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_ASSIGNED);
}

// Addresses that come and go while packets run.
static void test_addresses_come_and_go(void **state)
{
	struct conf *conf = desk_conf("", "");
	struct conf_port *lan = &conf->ports[LAN];

	(void)state;
	desk_wait(5000); // until all reports about the first addresses have been sent again
	desk_forget();
	lan->addrs[lan->n_addrs++] =
		(struct conf_iface_addr){addr_of("2001:db8:1::9"), {addr_of("2001:db8:1::"), 64}};
	desk_replace(conf);
	assert_int_equal(state_of(LAN, "2001:db8:1::9"), DAD_TENTATIVE);
	assert_int_equal(state_of(LAN, "2001:db8:1::1"), DAD_ASSIGNED);
	desk_wait(1500);
	assert_int_equal(sent_about("2001:db8:1::9", ND_SOLICITATION), 1);
	assert_int_equal(state_of(LAN, "2001:db8:1::9"), DAD_ASSIGNED);
	assert_int_equal(sent_about("2001:db8:1::9", ND_ADVERTISEMENT), 1);
	assert_true(reports_sent(LAN) > 0);
	assert_int_equal(reports_sent(WAN), 0);
	desk_forget();
	desk_reload("", "");
	assert_int_equal(reports_sent(LAN), 1); // leaves the group
	desk_event(duplicate(LAN, "2001:db8:1::9"));
	desk_expect_event("event=address_conflict\tseverity=warning\tport=lan\t"
			  "address=2001:db8:1::9\tmac=02:09:09:09:09:09");
	assert_int_equal(state_of(LAN, "2001:db8:1::9"), DAD_ASSIGNED);
}

// An address that a VRRP daemon adds is announced at once, from its link address, without a check.
static void test_guest_is_announced_at_once(void **state)
{
	const struct rte_ether_addr mac = {{0, 0, 0x5e, 0, 1, 7}};
	struct conf *conf = desk_conf("", "");
	struct sa sa = desk_sa_out("out-4")->sa;

	(void)state;
	desk_wait(2000);
	desk_forget();
	sa.opt.local = addr_of("192.0.2.7");
	assert_int_equal(address_check(&desk, desk.snapshot, &sa), DROP_ADDR_UNUSABLE);
	conf->ports[WAN].guests = (struct conf_guests){.n = 2,
		.addr = {addr_of("192.0.2.7"), addr_of("2001:db8:f::7")},
		.mac = {mac, mac}};
	desk_replace(conf);
	desk_expect_log("port \"wan\": address 192.0.2.7 was added");
	assert_int_equal(address_check(&desk, desk.snapshot, &sa), DROP_NONE);
	assert_int_equal(sent_about("2001:db8:f::7", ND_ADVERTISEMENT), 1);
	assert_memory_equal(desk_sent[0].b + 6, &mac, sizeof(mac)); // of ARP
	assert_int_equal(desk_sent[0].b[13], 0x06);
	desk_wait(2000);
	assert_int_equal(sent_about("2001:db8:f::7", ND_SOLICITATION), 0);
	desk_reload("", "");
	desk_expect_log("port \"wan\": address 192.0.2.7 was removed");
	assert_int_equal(address_check(&desk, desk.snapshot, &sa), DROP_ADDR_UNUSABLE);
}

static void test_query(void **state)
{
	(void)state;
	desk_wait(10000);
	desk_forget();
	desk_wait(10000);
	assert_int_equal(reports_sent(WAN), 0);
	desk_event((struct event){
		.kind = EVENT_MLD_QUERY, .port = WAN, .delay_ms = 1000, .interval_s = 125});
	desk_wait(2000);
	assert_in_range(reports_sent(WAN), 1, 10);
	assert_int_equal(reports_sent(LAN), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_assigned),
		desk_test(test_duplicate),
		desk_test(test_assigned_address_is_kept),
		desk_test(test_addresses_come_and_go),
		desk_test(test_guest_is_announced_at_once),
		desk_test(test_query),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
