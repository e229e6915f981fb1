// SPDX-License-Identifier: BSD-3-Clause
#include "web_rates.h"

#include <inttypes.h>
#include <stddef.h>

#include "web_text.h"

#define OF(member) offsetof(struct web_sample, member)

static const struct web_sample *sample_at(const struct web_history *h, uint64_t i)
{
	return &h->sample[i % WEB_SAMPLES];
}

static uint64_t first_of(const struct web_history *h)
{
	return h->n > WEB_SAMPLES ? h->n - WEB_SAMPLES : 0;
}

static uint64_t value_at(const struct web_history *h, uint64_t i, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)sample_at(h, i) + offset);
}

// A device that returned counts from 0 again.
static uint64_t rate_at(const struct web_history *h, uint64_t i, size_t offset)
{
	uint64_t now = value_at(h, i, offset), before = value_at(h, i - 1, offset);
	uint64_t ms = sample_at(h, i)->at_ms - sample_at(h, i - 1)->at_ms;

	return now > before && ms > 0 ? (now - before) * 1000 / ms : 0;
}

static void rates_write(
	FILE *out, const struct web_history *h, const char *name, size_t offset, uint64_t factor)
{
	uint64_t first = first_of(h) + 1;

	web_name(out, name);
	fputc('[', out);
	for (uint64_t i = first; i < h->n; i++)
		fprintf(out, "%s%" PRIu64, i > first ? "," : "", rate_at(h, i, offset) * factor);
	fputc(']', out);
}

static void reasons_write(FILE *out, const struct web_history *h)
{
	uint64_t first = first_of(h);
	const char *comma = "";

	fputs(",\"drop_rates\":{", out);
	for (enum drop r = 1; r < DROP_COUNT && h->n > 0; r++) {
		if (value_at(h, first, OF(drops[r])) == value_at(h, h->n - 1, OF(drops[r])))
			continue;
		fputs(comma, out);
		rates_write(out, h, drop_info[r].name, OF(drops[r]), 1);
		comma = ",";
	}
	fputc('}', out);
}

static void states_write(FILE *out, const struct web_history *h)
{
	uint64_t first = first_of(h) + 1;

	fputs(",\"tunnel_states\":{", out);
	for (unsigned int s = 0; s < TUNNEL_STATES; s++) {
		fputs(s > 0 ? "," : "", out);
		web_name(out, tunnel_state_names[s]);
		fputc('[', out);
		for (uint64_t i = first; i < h->n; i++)
			fprintf(out, "%s%" PRIu64, i > first ? "," : "",
				sample_at(h, i)->tunnels_in[s]);
		fputc(']', out);
	}
	fputc('}', out);
}

void web_rates_write(FILE *out, const struct web_history *h)
{
	fprintf(out, ",\"interval_s\":%u,\"rates\":{", WEB_SAMPLE_MS / 1000);
	rates_write(out, h, "received", OF(rx), 1);
	fputc(',', out);
	rates_write(out, h, "sent", OF(tx), 1);
	fputc('}', out);
	reasons_write(out, h);
	states_write(out, h);
}

void web_rates_write_ports(FILE *out, const struct web_history *h, const struct conf *conf)
{
	const char *comma = "";

	fputs(",\"port_rates\":{", out);
	for (unsigned int p = 0; p < conf->n_ports; p++) {
		if (conf_port_is_free(&conf->ports[p]))
			continue;
		fputs(comma, out);
		comma = ",";
		web_name(out, conf->ports[p].name);
		fputc('{', out);
		rates_write(out, h, "received", OF(port[p].rx_bytes), 8);
		fputc(',', out);
		rates_write(out, h, "sent", OF(port[p].tx_bytes), 8);
		fputc('}', out);
	}
	fputc('}', out);
}
