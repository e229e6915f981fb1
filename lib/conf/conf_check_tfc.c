// SPDX-License-Identifier: BSD-3-Clause
// Traffic flow confidentiality (RFC 4303 2.6, 2.7): which SAs it is for, and what it means for
// others of their settings.
#include "conf_check.h"

static bool hides_nothing(const struct cipher_alg *cipher)
{
	return cipher->mode == CIPHER_NULL || cipher->mode == CIPHER_GMAC;
}

void conf_check_tfc(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	config_setting_t *s = conf_given(item, "tfc");

	if (s == NULL) {
		sa->opt.tfc_pad = 0;
		return;
	}
	if (conf_given(item, "cipher") != NULL && hides_nothing(sa->opt.cipher))
		conf_err(r, s, "%s does not encrypt, tfc must have a cipher that does",
			sa->opt.cipher->name);
	// What the outer header takes from the inner one would tell packets apart.
	if (conf_given(item, "ecn") == NULL)
		sa->opt.ecn = false;
	if (conf_given(item, "df") == NULL)
		sa->opt.df = SA_DF_SET;
}
