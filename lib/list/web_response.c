// SPDX-License-Identifier: BSD-3-Clause
#include "web_response.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "web_page.h"

#define TEXT_TYPE "text/plain; charset=utf-8"

// Browsers take nothing but the page from here, and keep nothing.
static void headers_add(struct MHD_Response *r, const char *type)
{
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, "Content-Security-Policy", WEB_PAGE_POLICY);
	MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	// One request for each connection: a connection that waits for another one is idle.
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
}

struct MHD_Response *web_response_new(
	const char *type, char *text, size_t len, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, text, mode);

	if (r != NULL)
		headers_add(r, type);
	else if (mode == MHD_RESPMEM_MUST_FREE)
		free(text);
	return r;
}

enum MHD_Result web_respond(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r)
{
	enum MHD_Result result;

	if (r == NULL)
		return MHD_NO;
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

enum MHD_Result web_respond_text(struct MHD_Connection *c, unsigned int status, const char *text)
{
	struct MHD_Response *r = web_response_new(
		TEXT_TYPE, (char *)(uintptr_t)text, strlen(text), MHD_RESPMEM_PERSISTENT);

	if (r != NULL && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	return web_respond(c, status, r);
}
