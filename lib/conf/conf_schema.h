// SPDX-License-Identifier: BSD-3-Clause
// The settings as data: its place, its values, its field. They stand in conf_option.def. Private to
// lib/conf and its test.
#pragma once

#include <stddef.h>

#include "conf_reader.h"

struct conf_option;

// A value that is read. The default of an option is right and comes with s = NULL.
struct conf_value {
	struct conf_reader *r;
	const struct conf_option *option;
	config_setting_t *s;
	const char *text; // also of an integer
	void *field;      // where the value goes
};

// A kind of value.
struct conf_type {
	unsigned int kinds; // libconfig types that it may be written as, CONF_KIND() of each
	const void *words;  // the first; NULL: the choices of the option
	size_t word_size;   // from one to the next; 0: there are none
	// Reads text into field, or reports the mistake of setting s.
	void (*parse)(const struct conf_value *v);
	// Whether two fields have the same value; NULL: if their octets are the same.
	bool (*equal)(const void *a, const void *b);
	const char *allowed; // for messages: "must be ..."
	const char *pattern; // regular expression of its strings, but for the words; NULL: any
};

#define CONF_KIND(type) (1u << (type))

// SAs and policies that an option is for.
#define CONF_ONLY_IN      (1u << 0)
#define CONF_ONLY_OUT     (1u << 1)
#define CONF_ONLY_TUNNEL  (1u << 2)
#define CONF_ONLY_PROTECT (1u << 3)
#define CONF_ONLY_IKE     (1u << 4) // never in the file, see conf_ike.h

enum conf_shape {
	CONF_VALUE,
	CONF_ARRAY, // of values; they lie in the struct, one after the other
	CONF_MANY,  // one value or a list of them, in memory of their own: CONF_VALUES()
	CONF_GROUP, // of settings, whose fields are in the same struct, or in a part of it
	CONF_LIST,  // of groups; they lie in memory of their own
};

struct conf_option {
	const char *name;
	const char *aka; // names in other programs, for messages: words; NULL: nothing else
	enum conf_shape shape;
	const struct conf_type *type;      // of a value or the elements of an array
	const struct conf_option *options; // of a group or the items of a list
	enum conf_kind kind;               // of these items
	bool required;
	bool restart;       // a change is for the next start, not for a reload
	unsigned int only;  // of an SA or a policy: the CONF_ONLY_* that it has to be; 0: any
	const char *def;    // default, as in the file; NULL: none. Of an array: its one element.
	const char *absent; // effect of its absence, if that needs words
	uint32_t min, max;  // of an integer; no range if both are 0
	const char *const *choices; // of conf_type_choice and conf_type_engine; NULL after the last
	unsigned int n_min, n_max;  // elements of an array or list
	size_t offset, size; // the field; of an array: its first element; of values: one's size
	size_t count_offset; // unsigned int: the number of elements
	size_t part;         // of a group with a struct of its own: where that is
	size_t alias; // of CONF_MANY: the values of struct conf_alias that a name stands for; 0:
		      // none
	const char *help; // for docs/configuration.md
};

// Where the value of an option goes.
#define FIELD(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

// Options end with a nameless one: those of the config file, and of a key file.
extern const struct conf_option conf_top_options[], conf_pair_options[], conf_key_file_options[];

// Of an SA, and of its group udp.
extern const struct conf_option conf_sa_options[], conf_udp_options[];

// conf_type.c, conf_type_net.c, conf_type_number.c
#define TYPE(name, written, words, parse, equal, ...)                                              \
	extern const struct conf_type conf_type_##name;                                            \
	void conf_parse_##parse(const struct conf_value *v);
#include "conf_type.def"

// The i-th word of an option, NULL after the last, or if it has none.
const char *conf_word(const struct conf_option *o, unsigned int i);

// Reports that a text is none that the option allows, with the nearest word if it has words.
void conf_reject(const struct conf_value *v);

// Reads digits, decimal or after 0x. Returns the text after them; NULL if there are none or the
// number does not fit.
const char *conf_number(uint32_t *v, const char *text);

// The same for a text that is nothing but the number.
bool conf_number_whole(uint32_t *v, const char *text);

// Writes a value into the field of an integer option.
void conf_store(const struct conf_option *o, void *field, uint64_t v);

// The option of this name, or NULL.
const struct conf_option *conf_option_find(const struct conf_option *options, const char *name);

// Whether changes of a list itself are for the next start: its items have settings that are. So has
// that of ports alone, to which everything refers by number.
bool conf_kind_needs_restart(enum conf_kind kind);

// Why packets cannot be sent to an address or prefix ("multicast"); NULL if they can.
const char *conf_not_unicast(const struct ip_prefix *p);

// Whether an address in net can be a host's. Of IPv4 the first and the last one cannot (RFC 1122
// 3.2.1.3), of IPv6 the first one, which every router has (RFC 4291 2.6.1); unless net has no more
// than two (RFC 3021, RFC 6164).
bool conf_is_host(const struct ip_addr *a, const struct ip_prefix *net);

// Kind of an address that is not allowed.
const char *conf_no_host(const struct ip_addr *a);

// The element "host" of the addresses of a port: no address has it as its network.
extern const struct conf_iface_addr conf_address_of_host;

// Whether two texts are the same, or both NULL; two fields that point to texts; two prefixes; and
// two struct conf_iface_addr, or conf_addrs.
bool conf_texts_equal(const char *a, const char *b);
bool conf_equal_text(const void *a, const void *b);
bool conf_equal_prefix(const void *a, const void *b);
bool conf_equal_interface(const void *a, const void *b);
bool conf_equal_addrs(const void *a, const void *b);

// Whether an option with a field has the same value, or the same elements, in both structs.
bool conf_option_equal(const struct conf_option *o, const void *base_a, const void *base_b);

// An address or prefix as it is written best, any other text as it is.
const char *conf_identity_plain(enum conf_kind kind, const char *text);

// Identity of an item of a list: "to-b", "192.0.2.2", "fe80::1 port wan".
const char *conf_identity(enum conf_kind kind, const config_setting_t *item);

// A text in an element; "" if there is none, which is reported elsewhere.
const char *conf_text_in(const config_setting_t *item, const char *name);

// conf_values.c

// Values of any type.
CONF_VALUES(conf_values, void);

// Reads one value or a list of them, with those of aliases, or (s NULL) the default.
void conf_read_values(
	struct conf_reader *r, const struct conf_option *o, config_setting_t *s, char *base);

// Whether an option of CONF_MANY has the same values in both structs.
bool conf_values_equal(const struct conf_option *o, const char *base_a, const char *base_b);

// conf_read.c

// Reads a group's settings, and the defaults of missing ones, into the struct at base. Without a
// group (NULL): the defaults.
void conf_read_group(struct conf_reader *r, const struct conf_option *options,
	config_setting_t *group, void *base);

// Reads one value, of a setting or of an element of it.
void conf_read_value(
	struct conf_reader *r, const struct conf_option *o, config_setting_t *s, void *field);

// Reads the setting of this name at the top if it is there.
void conf_read_setting(struct conf_reader *r, const char *name);

// Reports that a group lacks the setting of this option.
void conf_reject_missing(
	struct conf_reader *r, config_setting_t *group, const struct conf_option *o);

// The allowed values of a setting, or of an element of an array: "an integer from 576 to 9600".
const char *conf_allowed(const struct conf_option *o);
