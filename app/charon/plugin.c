// SPDX-License-Identifier: BSD-3-Clause
// strongSwan's plugin kernel-culvert: charon calls culvertd instead of the kernel's IPsec.
#include "kernel.h"

METHOD(plugin_t, get_name, char *, plugin_t *this)
{
	return "kernel-culvert";
}

METHOD(plugin_t, get_features, int, plugin_t *this, plugin_feature_t *features[])
{
	static plugin_feature_t ours[] = {
		PLUGIN_CALLBACK(kernel_ipsec_register, kernel_create),
		PLUGIN_PROVIDE(CUSTOM, "kernel-ipsec"),
	};

	*features = ours;
	return countof(ours);
}

METHOD(plugin_t, destroy, void, plugin_t *this)
{
	free(this);
}

// charon looks for it by this name.
__attribute__((visibility("default"))) plugin_t *kernel_culvert_plugin_create(void);

plugin_t *kernel_culvert_plugin_create(void)
{
	plugin_t *this;

	INIT(this, .get_name = _get_name, .get_features = _get_features, .destroy = _destroy);
	return this;
}
