// SPDX-License-Identifier: BSD-3-Clause
// SAs of charon as settings of the gateway (docs/configuration.md, sas).
#include "kernel.h"

#include <arpa/inet.h>
#include <sys/random.h>

#define SPI_FIRST  0xc0000000u // as charon asks Linux for
#define SPI_MASK   0x0fffffffu
#define WINDOW_MIN 32   // of the gateway
#define TEXT_SIZE  2048 // of the settings of an SA

// Of a CHILD_SA: a peer that is free to choose its selectors leaves others room for theirs.
#define POLICIES_MAX 512

// charon subtracts a random part from the soft limit, which may be larger than the limit: the
// difference wraps, and the gateway's default is used instead.
static void limit_write(FILE *f, const char *unit, uint64_t soft, uint64_t hard)
{
	if (soft != 0 && soft <= (hard != 0 ? hard : INT64_MAX))
		fprintf(f, " soft_%s = \"%llu\";", unit, (unsigned long long)soft);
	if (hard != 0)
		fprintf(f, " hard_%s = \"%llu\";", unit, (unsigned long long)hard);
}

// charon sets a rekey time for only one of the two SAs; the other has only an end.
static void lifetime_write(FILE *f, const lifetime_cfg_t *life)
{
	uint64_t renewed = life->time.rekey != 0 ? life->time.rekey : life->time.life;

	fprintf(f, " lifetime = {");
	limit_write(f, "bytes", life->bytes.rekey, life->bytes.life);
	limit_write(f, "packets", life->packets.rekey, life->packets.life);
	limit_write(f, "seconds", renewed, life->time.life);
	fprintf(f, " };");
}

// Only a peer behind a NAT moves without an IKE message (RFC 7296 2.23).
static bool peer_has_nat(void)
{
	ike_sa_t *ike_sa = charon->bus->get_sa(charon->bus);

	return ike_sa != NULL && ike_sa->has_condition(ike_sa, COND_NAT_THERE);
}

// charon sends the keepalives of a NAT itself.
static void udp_write(FILE *f, const struct kernel_sa *sa)
{
	if (sa->inbound)
		fprintf(f, " udp = { local_port = %u; };", sa->dst->get_port(sa->dst));
	else
		fprintf(f,
			" udp = { local_port = %u; remote_port = %u; keepalive = 0; follow = %s; "
			"};",
			sa->src->get_port(sa->src), sa->dst->get_port(sa->dst),
			peer_has_nat() ? "true" : "false");
}

static void ends_write(FILE *f, const struct kernel_sa *sa)
{
	char local[ADDRESS_SIZE], remote[ADDRESS_SIZE];

	kernel_address(local, sa->inbound ? sa->dst : sa->src);
	kernel_address(remote, sa->inbound ? sa->src : sa->dst);
	fprintf(f, " local = \"%s\"; remote = \"%s\";", local, remote);
}

static void header_write(FILE *f, const kernel_ipsec_add_sa_t *data)
{
	bool to_out = data->copy_dscp == DSCP_COPY_OUT_ONLY || data->copy_dscp == DSCP_COPY_YES;
	bool to_in = data->copy_dscp == DSCP_COPY_IN_ONLY || data->copy_dscp == DSCP_COPY_YES;

	if (data->mode != MODE_TUNNEL || (!data->inbound && data->tfc != 0))
		return; // with tfc, no field of the inner header may show
	fprintf(f, " ecn = %s;", data->copy_ecn ? "true" : "false");
	if (data->inbound)
		fprintf(f, " dscp = \"%s\";", to_in ? "copy" : "keep");
	else
		fprintf(f, " dscp = %s; df = \"%s\";", to_out ? "\"copy\"" : "0",
			data->copy_df ? "copy" : "clear");
}

static void tfc_write(FILE *f, const kernel_ipsec_add_sa_t *data)
{
	if (data->inbound || data->tfc == 0)
		return;
	if (data->tfc == UINT32_MAX)
		fprintf(f, " tfc = { };");
	else
		fprintf(f, " tfc = { pad = %u; };", data->tfc);
}

static bool settings_write(FILE *f, const struct kernel_sa *sa, const kernel_ipsec_add_sa_t *data)
{
	fprintf(f, "sa add { name = \"%s\"; direction = \"%s\"; mode = \"%s\"; spi = \"0x%08x\";",
		sa->name, sa->inbound ? "in" : "out",
		data->mode == MODE_TUNNEL ? "tunnel" : "transport", sa->spi);
	if (sa->if_id != 0)
		fprintf(f, " if_id = %u;", sa->if_id);
	else
		fprintf(f, " reqid = 0x%x;", group_number(sa->group));
	fprintf(f, " peer_id = 0x%x;", kernel_peer());
	if (!sa->inbound)
		fprintf(f, " late = %s;", data->initiator ? "false" : "true");
	ends_write(f, sa);
	if (data->encap)
		udp_write(f, sa);
	fprintf(f, " esn = %s;", data->esn ? "true" : "false");
	if (sa->inbound)
		fprintf(f, " replay_window = %u;",
			data->replay_window > 0 ? max(data->replay_window, WINDOW_MIN) : 0);
	header_write(f, data);
	tfc_write(f, data);
	lifetime_write(f, data->lifetime);
	if (!algorithms_write(f, data))
		return false;
	fprintf(f, " }\n");
	return true;
}

// --- the table ---

// By SPI, which never changes; the other end may. Peers behind one NAT choose theirs independently.
static u_int hash(const void *sa)
{
	return ((const struct kernel_sa *)sa)->spi;
}

static bool is_same(const void *a, const void *b)
{
	const struct kernel_sa *x = a, *y = b;

	return x->spi == y->spi && x->inbound == y->inbound &&
	       (x->inbound ? x->dst->ip_equals(x->dst, y->dst) : x->dst->equals(x->dst, y->dst));
}

static bool has_spi(const void *a, const void *b)
{
	return hash(a) == hash(b);
}

static bool has_name(const void *a, const void *b)
{
	return streq(((const struct kernel_sa *)a)->name, ((const struct kernel_sa *)b)->name);
}

hashlist_t *sas_create(void)
{
	return hashlist_create(hash, is_same, 64);
}

struct kernel_sa *sa_find(struct kernel *k, uint32_t spi, bool inbound, host_t *dst)
{
	return k->sas->ht.get(
		&k->sas->ht, &(struct kernel_sa){.spi = spi, .inbound = inbound, .dst = dst});
}

// In a name the SPI is the last part with eight digits.
struct kernel_sa *sa_named(struct kernel *k, const char *name)
{
	struct kernel_sa key = {0};

	snprintf(key.name, sizeof(key.name), "%s", name);
	for (const char *dot = strchr(name, '.'); dot != NULL; dot = strchr(dot + 1, '.'))
		if (strcspn(dot + 1, ".") == 8)
			key.spi = (uint32_t)strtoul(dot + 1, NULL, 16);
	return k->sas->get_match(k->sas, &key, has_name);
}

void sa_set_late(struct kernel *k, const char *name, bool late)
{
	char change[NAME_SIZE + 32];

	snprintf(change, sizeof(change), "sa set %s { late = %s; }\n", name,
		late ? "true" : "false");
	kernel_change(k, change);
}

// charon does not name the direction. An inbound SA has an SPI that this plugin allocated.
static struct kernel_sa *sa_of(struct kernel *k, kernel_ipsec_sa_id_t *id)
{
	uint32_t spi = ntohl(id->spi);
	struct kernel_sa *sa = sa_find(k, spi, true, id->dst);

	return sa != NULL ? sa : sa_find(k, spi, false, id->dst);
}

static struct kernel_sa *sa_make(
	struct kernel *k, uint32_t spi, bool inbound, host_t *src, host_t *dst)
{
	struct kernel_sa *sa = malloc(sizeof(*sa));

	*sa = (struct kernel_sa){
		.spi = spi, .inbound = inbound, .src = src->clone(src), .dst = dst->clone(dst)};
	k->sas->ht.put(&k->sas->ht, sa, sa);
	return sa;
}

static void sa_free(struct kernel *k, struct kernel_sa *sa)
{
	group_put(k, sa->group);
	sa->src->destroy(sa->src);
	sa->dst->destroy(sa->dst);
	free(sa);
}

static void sa_forget(struct kernel *k, struct kernel_sa *sa)
{
	k->sas->ht.remove(&k->sas->ht, sa);
	sa_free(k, sa);
}

void sas_forget(struct kernel *k)
{
	enumerator_t *e = k->sas->ht.create_enumerator(&k->sas->ht);
	struct kernel_sa *sa;

	while (e->enumerate(e, NULL, &sa)) {
		k->sas->ht.remove_at(&k->sas->ht, e);
		sa_free(k, sa);
	}
	e->destroy(e);
}

// Tells the gateway whether an SA with the SPI is to be added: packets of a peer that sends before
// charon has its answer wait for it.
static void spi_await(struct kernel *k, uint32_t spi, bool awaited)
{
	char text[32];

	snprintf(text, sizeof(text), "spi %s 0x%08x\n", awaited ? "add" : "del", spi);
	kernel_change(k, text);
}

// Random, so that it differs from those of an earlier charon, whose peers may still send.
status_t sa_get_spi(struct kernel *k, host_t *src, host_t *dst, uint32_t *spi)
{
	uint32_t random;

	do {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return FAILED;
		random = SPI_FIRST | (random & SPI_MASK);
	} while (k->sas->get_match(k->sas, &(struct kernel_sa){.spi = random}, has_spi) != NULL);
	sa_make(k, random, true, src, dst);
	spi_await(k, random, true);
	*spi = htonl(random);
	return SUCCESS;
}

static void ends_set(struct kernel_sa *sa, host_t *src, host_t *dst)
{
	sa->src->destroy(sa->src);
	sa->dst->destroy(sa->dst);
	sa->src = src->clone(src);
	sa->dst = dst->clone(dst);
}

// ike.CONNECTION.DIRECTION.SPI. Peers choose the SPIs of outbound SAs: the second one gets a
// number.
static void name_choose(struct kernel *k, struct kernel_sa *sa)
{
	const char *direction = sa->inbound ? "in" : "out";
	char connection[NAME_SIZE], name[NAME_SIZE];

	kernel_connection(connection);
	sa->name[0] = '\0';
	snprintf(name, sizeof(name), GATEWAY_OWN "%.12s.%s.%08x", connection, direction, sa->spi);
	for (unsigned int i = 2; sa_named(k, name) != NULL; i++)
		snprintf(name, sizeof(name), GATEWAY_OWN "%.7s.%s.%08x.%u", connection, direction,
			sa->spi, i);
	strcpy(sa->name, name);
}

status_t sa_add(struct kernel *k, kernel_ipsec_sa_id_t *id, kernel_ipsec_add_sa_t *data)
{
	const char *unknown = data->inbound ? child_unknown() : NULL;
	struct kernel_sa *sa = sa_find(k, ntohl(id->spi), data->inbound, id->dst);
	char text[TEXT_SIZE] = "";
	bool ok;

	if (unknown == NULL)
		unknown = sa_unknown(id, data);
	if (unknown != NULL) {
		DBG1(DBG_KNL, "culvert: the gateway has no %s", unknown);
		return NOT_SUPPORTED;
	}
	if (sa != NULL && sa->name[0] != '\0') {
		DBG1(DBG_KNL, "culvert: the peer uses SPI 0x%08x already", sa->spi);
		return FAILED;
	}
	if (policies_count(data->src_ts, data->dst_ts) > POLICIES_MAX) {
		DBG1(DBG_KNL, "culvert: the gateway has no SA for more than %u pairs of networks",
			POLICIES_MAX);
		return NOT_SUPPORTED;
	}
	if (sa == NULL)
		sa = sa_make(k, ntohl(id->spi), data->inbound, id->src, id->dst);
	else // charon may have found a NAT since get_spi()
		ends_set(sa, id->src, id->dst);
	sa->mode = data->mode;
	sa->left = false;
	group_put(k, sa->group);
	sa->if_id = id->if_id;
	sa->group = id->if_id != 0
			    ? NULL
			    : group_get(k, data->reqid, data->inbound ? data->dst_ts : data->src_ts,
				      data->inbound ? data->src_ts : data->dst_ts);
	name_choose(k, sa);

	FILE *f = fmemopen(text, sizeof(text), "w");

	ok = f != NULL && settings_write(f, sa, data);
	if (f != NULL)
		ok &= fclose(f) == 0;
	ok = ok && kernel_change(k, text);
	explicit_bzero(text, sizeof(text));
	if (!ok && sa->inbound)
		spi_await(k, sa->spi, false);
	if (!ok)
		sa_forget(k, sa);
	else if (!sa->inbound && !data->initiator)
		reauth_wait(k, sa);
	return ok ? SUCCESS : FAILED;
}

// charon removes the policies before and adds them again, so each direction can change by itself.
status_t sa_update(struct kernel *k, kernel_ipsec_sa_id_t *id, kernel_ipsec_update_sa_t *data)
{
	struct kernel_sa *sa = sa_of(k, id), moved;
	char text[TEXT_SIZE] = "";
	FILE *f;

	if (sa == NULL || sa->name[0] == '\0')
		return NOT_FOUND;
	if ((data->encap && !data->new_encap) || data->new_reqid != 0)
		return NOT_SUPPORTED; // an SA stays in UDP, and in its group: charon makes a new
				      // one
	moved = *sa;
	moved.src = data->new_src;
	moved.dst = data->new_dst;
	f = fmemopen(text, sizeof(text), "w");
	if (f == NULL)
		return NOT_SUPPORTED;
	fprintf(f, "sa set %s {", sa->name);
	ends_write(f, &moved);
	if (data->new_encap && sa->inbound)
		fprintf(f, " udp = { local_port = %u; };", moved.dst->get_port(moved.dst));
	else if (data->new_encap)
		fprintf(f, " udp = { local_port = %u; remote_port = %u; };",
			moved.src->get_port(moved.src), moved.dst->get_port(moved.dst));
	fprintf(f, " }\n");
	fclose(f);
	if (!kernel_change(k, text))
		return NOT_SUPPORTED;
	ends_set(sa, data->new_src, data->new_dst);
	return SUCCESS;
}

bool sa_used(struct kernel *k, const struct kernel_sa *sa, uint64_t *bytes, uint64_t *packets,
	time_t *used)
{
	json_t *seen = gateway_sa(k->instance, sa->name);
	const char *ago = json_string_value(json_object_get(seen, "last_seen_s"));
	bool known = seen != NULL;

	*used = 0;
	if (bytes != NULL)
		*bytes = (uint64_t)gateway_number(seen, "bytes");
	if (packets != NULL)
		*packets = (uint64_t)gateway_number(seen, "packets");
	if (ago != NULL && ago[0] != '-') // "-": never
		*used = time_monotonic(NULL) - (time_t)gateway_number(seen, "last_seen_s");
	json_decref(seen);
	return known;
}

status_t sa_query(struct kernel *k, kernel_ipsec_sa_id_t *id, uint64_t *bytes, uint64_t *packets,
	time_t *used)
{
	struct kernel_sa *sa = sa_of(k, id);
	time_t at;

	if (sa == NULL || sa->name[0] == '\0')
		return NOT_FOUND;
	if (!sa_used(k, sa, bytes, packets, &at))
		return FAILED;
	if (used != NULL)
		*used = at;
	return SUCCESS;
}

status_t sa_del(struct kernel *k, kernel_ipsec_sa_id_t *id)
{
	struct kernel_sa *sa = sa_of(k, id);
	char text[NAME_SIZE + 8];
	bool ok = true;

	if (sa == NULL)
		return NOT_FOUND;
	if (sa->name[0] != '\0') {
		snprintf(text, sizeof(text), "sa del %s\n", sa->name);
		ok = kernel_change(k, text);
	} else if (sa->inbound) {
		spi_await(k, sa->spi, false);
	}
	sa_forget(k, sa);
	return ok ? SUCCESS : FAILED;
}
