// SPDX-License-Identifier: BSD-3-Clause
// Answers of the metrics endpoint to a request. The thread of its server.
#pragma once

#include <stddef.h>

#include <microhttpd.h>

// Of text that stays, or that the server frees. NULL if there is no memory.
struct MHD_Response *web_response_new(
	const char *type, char *text, size_t len, enum MHD_ResponseMemoryMode mode);

// Answers with a response, and frees it. NULL: closes the connection.
enum MHD_Result web_respond(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r);

// Answers with text that stays.
enum MHD_Result web_respond_text(struct MHD_Connection *c, unsigned int status, const char *text);
