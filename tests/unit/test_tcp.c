// SPDX-License-Identifier: BSD-3-Clause
// TCP connections as a gateway sees them, segment by segment: the state after each, and whether it
// is accepted. Every script runs with several initial sequence numbers, with either end as the
// lower one, and with one worker and two.
#include "flows.h"

enum end { A, B }; // A opens

#define SS FLOW_TCP_SYN_SENT
#define SR FLOW_TCP_SYN_RECV
#define PU FLOW_TCP_PICKED_UP
#define ES FLOW_TCP_ESTABLISHED
#define FW FLOW_TCP_FIN_WAIT
#define CW FLOW_TCP_CLOSE_WAIT
#define LA FLOW_TCP_LAST_ACK
#define TW FLOW_TCP_TIME_WAIT
#define CL FLOW_TCP_CLOSE
#define NO FLOW_FREE // there is no flow

#define PASS   DROP_NONE
#define WINDOW DROP_TCP_WINDOW
#define RESET  DROP_TCP_RESET
#define UNREAL DROP_CT_INVALID
#define UNOPEN DROP_TCP_UNOPENED

// Sequence numbers are relative to the sender's first, acknowledgements to the other's.
struct row {
	enum end from;
	uint8_t flags;
	uint32_t seq, ack;
	uint16_t window, len;
	enum flow_state state;
	enum drop verdict;
	int scale; // the option's shift + 1; 0: no option
};

#define ROWS_MAX 24

struct script {
	const char *name;
	bool liberal, pick_up;
	struct row row[ROWS_MAX]; // ends with flags 0
};

#define OPEN                                                                                       \
	{A, SYN, 0, 0, 1000, 0, SS, PASS}, {B, SYN | ACK, 0, 1, 2000, 0, SR, PASS},                \
	{                                                                                          \
		A, ACK, 1, 1, 1000, 0, ES, PASS                                                    \
	}

static const struct script scripts[] = {
	{"open, data, close",
		.row = {OPEN, {A, ACK | PSH, 1, 1, 1000, 100, ES, PASS},
			{B, ACK, 1, 101, 2000, 0, ES, PASS},
			{B, ACK | PSH, 1, 101, 2000, 500, ES, PASS},
			{A, ACK, 101, 501, 1000, 0, ES, PASS},
			{A, ACK | FIN, 101, 501, 1000, 0, FW, PASS},
			{B, ACK, 501, 102, 2000, 0, CW, PASS},
			{B, ACK | FIN, 501, 102, 2000, 0, LA, PASS},
			{A, ACK, 102, 502, 1000, 0, TW, PASS},
			{B, ACK | FIN, 501, 102, 2000, 0, TW, PASS}, // its last ACK was lost
			{A, ACK, 102, 502, 1000, 0, TW, PASS}}},
	{"close in three segments, data with FIN",
		.row = {OPEN, {B, ACK | FIN | PSH, 1, 1, 2000, 10, FW, PASS},
			{A, ACK | FIN, 1, 12, 1000, 0, LA, PASS},
			{B, ACK, 12, 2, 2000, 0, TW, PASS}}},
	{"half-close: the other end continues to send",
		.row = {OPEN, {A, ACK | FIN, 1, 1, 1000, 0, FW, PASS},
			{A, ACK | FIN, 1, 1, 1000, 0, FW, PASS}, // again
			{B, ACK, 1, 2, 2000, 0, CW, PASS},
			{A, ACK | FIN, 1, 1, 1000, 0, CW, PASS}, // an old copy
			{B, ACK | PSH, 1, 2, 2000, 800, CW, PASS},
			{A, ACK, 2, 801, 1000, 0, CW, PASS},
			{B, ACK | FIN, 801, 2, 2000, 0, LA, PASS},
			{A, ACK, 2, 802, 1000, 0, TW, PASS}}},
	{"an acknowledgement that does not cover the FIN",
		.row = {OPEN, {A, ACK | PSH, 1, 1, 1000, 100, ES, PASS},
			{A, ACK | FIN, 101, 1, 1000, 0, FW, PASS},
			{B, ACK, 1, 101, 2000, 0, FW, PASS}, {B, ACK, 1, 102, 2000, 0, CW, PASS}}},
	{"a FIN in front of what was sent is none",
		.row = {OPEN, {A, ACK | PSH, 1, 1, 1000, 200, ES, PASS},
			{A, ACK | FIN, 101, 1, 1000, 0, ES, PASS},
			{A, ACK | FIN, 201, 1, 1000, 0, FW, PASS}}},
	{"simultaneous close",
		.row = {OPEN, {A, ACK | FIN, 1, 1, 1000, 0, FW, PASS},
			{B, ACK | FIN, 1, 1, 2000, 0, LA, PASS}, {A, ACK, 2, 2, 1000, 0, LA, PASS},
			{B, ACK, 2, 2, 2000, 0, TW, PASS}}},
	{"FIN during the handshake",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {B, SYN | ACK, 0, 1, 2000, 0, SR, PASS},
			{B, ACK | FIN, 1, 1, 2000, 0, FW, PASS}, {A, ACK, 1, 1, 1000, 0, FW, PASS},
			{A, ACK, 1, 2, 1000, 0, CW, PASS}}},
	{"simultaneous open", // RFC 9293, figure 8
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {B, SYN, 0, 0, 2000, 0, SS, PASS},
			{A, SYN | ACK, 0, 1, 1000, 0, SR, PASS},
			{B, SYN | ACK, 0, 1, 2000, 0, ES, PASS},
			{A, ACK | PSH, 1, 1, 1000, 100, ES, PASS},
			{B, ACK, 1, 101, 2000, 0, ES, PASS}}},
	{"simultaneous open, repeated and scaled",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS, 8}, {B, SYN, 0, 0, 2000, 0, SS, PASS, 3},
			{A, SYN, 0, 0, 1000, 0, SS, PASS, 8},
			{A, SYN, 5, 0, 1000, 0, SS, PASS}, // accepted, for it may be the right one
			{A, SYN | ACK, 7, 1, 1000, 0, SS, UNREAL}, // but this is not the one
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS, 3}, {A, ACK, 1, 1, 10, 0, ES, PASS},
			{B, ACK, 1 + 1280, 1, 2000, 0, ES, PASS}, // 10 << 7
			{B, ACK, 1 + 1281, 1, 2000, 0, ES, WINDOW}}},
	{"repeated SYN, SYN-ACK and ACK",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {A, SYN, 0, 0, 1000, 0, SS, PASS},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS}, {A, SYN, 0, 0, 1000, 0, SR, PASS},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS}, {A, ACK, 1, 1, 1000, 0, ES, PASS},
			{B, SYN | ACK, 0, 1, 2000, 0, ES, PASS},
			{A, SYN, 0, 0, 1000, 0, ES, PASS}, // an old copy
			{A, ACK, 1, 1, 1000, 0, ES, PASS},
			{A, ACK | PSH, 1, 1, 1000, 10, ES, PASS}}},
	{"SYN with another sequence number before an answer",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {A, SYN, 70000, 0, 1000, 0, SS, PASS},
			{B, SYN | ACK, 0, 1, 2000, 0, SS, WINDOW},
			{B, SYN | ACK, 0, 70001, 2000, 0, SR, PASS},
			{A, ACK, 70001, 1, 1000, 0, ES, PASS}}},
	{"the server answers a repeated SYN with another sequence number",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {B, SYN | ACK, 0, 1, 2000, 0, SR, PASS},
			{B, SYN | ACK, 5000, 1, 2000, 0, SR, PASS},
			{A, ACK, 1, 5001, 1000, 0, ES, PASS}, {A, ACK, 1, 1, 1000, 0, ES, WINDOW},
			{A, SYN | ACK, 77, 1, 1000, 0, ES, UNREAL}, // the first one is forgotten
			{B, ACK, 5001, 1, 2000, 100, ES, PASS}}},
	{"the client accepts the first of two SYN-ACKs",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS, 1 + 2},
			{A, SYN, 0, 0, 1000, 0, SS, PASS, 1 + 2},
			{B, SYN | ACK, 0, 1, 500, 0, SR, PASS, 1 + 7},
			{B, SYN | ACK, 90000, 1, 2000, 0, SR, PASS}, // does not scale
			{A, ACK, 3001, 1, 1000, 0, SR, WINDOW},
			{A, ACK, 1, 90002, 1000, 0, SR, WINDOW}, {A, ACK, 1, 1, 1000, 0, ES, PASS},
			{A, ACK, 501, 1, 1000, 1, ES, PASS}, {A, ACK, 503, 1, 1000, 1, ES, WINDOW},
			{B, SYN | ACK, 90000, 1, 2000, 0, ES, WINDOW},
			{B, ACK, 1 + 4000, 1, 100, 1, ES, PASS},
			{B, ACK, 1 + 4001, 1, 100, 1, ES, WINDOW},
			{A, ACK, 1 + 12800, 1, 1000, 1, ES, PASS},
			{A, ACK, 3 + 12800, 1, 1000, 1, ES, WINDOW}}},
	{"the client accepts the first of two SYN-ACKs, which does not scale",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS, 1 + 2},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS},
			{B, SYN | ACK, 90000, 1, 2000, 0, SR, PASS, 1 + 7},
			{A, ACK, 1, 1, 1000, 0, ES, PASS}, {B, ACK, 1 + 1000, 1, 2000, 1, ES, PASS},
			{B, ACK, 2 + 1000, 1, 2000, 1, ES, WINDOW},
			{A, ACK, 1 + 2000, 1, 1000, 1, ES, PASS},
			{A, ACK, 3 + 2000, 1, 1000, 1, ES, WINDOW}}},
	{"three SYN-ACKs, the second of which is repeated",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {B, SYN | ACK, 0, 1, 2000, 0, SR, PASS},
			{B, SYN | ACK, 90000, 1, 2000, 0, SR, PASS},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS},
			{B, SYN | ACK, 90000, 1, 2000, 0, SR, PASS},
			{B, SYN | ACK, 70000, 1, 2000, 0, SR, PASS},
			{A, ACK, 1, 90001, 1000, 0, ES, PASS},
			{B, ACK, 90001, 1, 2000, 100, ES, PASS}}},
	{"SYN-ACK that acknowledges something else",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS},
			{B, SYN | ACK, 0, 2, 2000, 0, SS, WINDOW},
			{B, SYN | ACK, 0, 0, 2000, 0, SS, WINDOW},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS}}},
	{"final ACK of the handshake that acknowledges something else",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {B, SYN | ACK, 0, 1, 2000, 0, SR, PASS},
			{A, ACK, 1, 0, 1000, 0, SR, WINDOW}, {A, ACK, 1, 2, 1000, 0, SR, WINDOW},
			{A, ACK, UINT32_MAX, 1, 1000, 0, SR, WINDOW},
			{A, ACK, 1, 1, 1000, 0, ES, PASS}}},
	{"TCP fast open",
		.row = {{A, SYN, 0, 0, 1000, 300, SS, PASS},
			{B, SYN | ACK, 0, 302, 2000, 0, SS, WINDOW},
			{B, SYN | ACK, 0, 301, 2000, 0, SR, PASS},
			{B, ACK | PSH, 1, 301, 2000, 900, SR, PASS},
			{B, ACK | PSH, 901, 301, 2000, 900, SR, PASS},
			{B, ACK | PSH, 1801, 301, 2000, 9, SR, WINDOW}, // the window is 1000
			{A, ACK, 301, 1, 1000, 0, ES, PASS}}},
	{"TCP fast open, text not taken", .row = {{A, SYN, 0, 0, 1000, 300, SS, PASS},
						  {B, SYN | ACK, 0, 1, 2000, 0, SR, PASS},
						  {A, ACK | PSH, 1, 1, 1000, 300, ES, PASS}}},
	{"refused connection",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {B, RST | ACK, 0, 0, 0, 0, SS, RESET},
			{B, RST | ACK, 0, 2, 0, 0, SS, RESET}, {B, RST, 0, 0, 0, 0, SS, RESET},
			{B, RST | ACK, 0, 1, 0, 0, CL, PASS}, {B, RST | ACK, 0, 1, 0, 0, CL, PASS},
			{A, SYN, 90000, 0, 1000, 0, SS, PASS}, // tries again
			{B, SYN | ACK, 0, 90001, 2000, 0, SR, PASS},
			{A, ACK, 90001, 1, 1000, 0, ES, PASS}}},
	{"the opener stops",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {A, RST, 1, 0, 0, 0, CL, PASS}}},
	{"resets in the handshake",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {B, SYN | ACK, 0, 1, 2000, 0, SR, PASS},
			{B, RST, 0, 0, 0, 0, SR, RESET}, {B, RST, 1002, 0, 0, 0, SR, RESET},
			{B, RST, 500, 0, 0, 0, SR, PASS}, {A, RST, 0, 0, 0, 0, SR, RESET},
			{A, RST, 1, 0, 0, 0, CL, PASS}}},
	{"resets of an open connection",
		.row = {OPEN, {B, ACK | PSH, 1, 1, 2000, 100, ES, PASS},
			{A, ACK, 1, 101, 1000, 0, ES, PASS},
			{B, RST, 100, 0, 0, 0, ES, RESET},        // below the window
			{B, RST, 101 + 1001, 0, 0, 0, ES, RESET}, // above it
			{B, RST, 0x40000000, 0, 0, 0, ES, RESET}, // blind
			{B, RST, 102, 0, 0, 0, ES, PASS}, // in the window: needs a challenge ACK
			{B, RST, 101 + 1000, 0, 0, 0, ES, PASS},
			{A, ACK | PSH, 1, 101, 1000, 10, ES, PASS}, // the connection continues
			{A, RST | ACK, 2000, 101, 0, 0, ES, PASS},
			{A, RST | ACK, 2002, 101, 0, 0, ES, RESET},
			{B, RST, 101, 0, 0, 0, CL, PASS}, // exact
			{B, RST, 101, 0, 0, 0, CL, PASS}, {A, ACK, 11, 101, 1000, 0, CL, PASS}}},
	{"reset behind text that is not acknowledged",
		.row = {OPEN, {A, ACK | PSH, 1, 1, 1000, 100, ES, PASS},
			{A, RST | ACK, 101, 1, 0, 0, CL, PASS}}},
	{"reset where the other end waits, with text in flight",
		.row = {OPEN, {A, ACK | PSH, 1, 1, 1000, 100, ES, PASS},
			{A, RST, 1, 0, 0, 0, CL, PASS}}},
	{"new connection in TIME_WAIT",
		.row = {OPEN, {A, ACK | FIN, 1, 1, 1000, 0, FW, PASS},
			{B, ACK | FIN, 1, 2, 2000, 0, LA, PASS}, {A, ACK, 2, 2, 1000, 0, TW, PASS},
			{B, RST, 2, 0, 0, 0, TW, PASS}, // RFC 1337
			{A, SYN, 500000, 0, 1000, 0, SS, PASS},
			{B, SYN | ACK, 700000, 500001, 2000, 0, SR, PASS},
			{A, ACK, 500001, 700001, 1000, 0, ES, PASS},
			{A, ACK | PSH, 500001, 700001, 1000, 100, ES, PASS},
			{B, ACK, 700001, 500101, 2000, 0, ES, PASS},
			{B, ACK, 2, 2, 2000, 0, ES, WINDOW}}}, // of the old connection
	{"new connection in TIME_WAIT, from the other end",
		.row = {OPEN, {A, ACK | FIN, 1, 1, 1000, 0, FW, PASS},
			{B, ACK | FIN, 1, 2, 2000, 0, LA, PASS}, {A, ACK, 2, 2, 1000, 0, TW, PASS},
			{B, SYN, 500000, 0, 1000, 0, SS, PASS},
			{A, ACK, 2, 2, 1000, 0, SS, PASS}, // it is still in TIME_WAIT
			{B, RST, 2, 0, 0, 0, SS, PASS}, {B, SYN, 500000, 0, 1000, 0, SS, PASS},
			{A, SYN | ACK, 700000, 500001, 2000, 0, SR, PASS},
			{B, ACK, 500001, 700001, 1000, 0, ES, PASS}}},
	{"window without scaling",
		.row = {OPEN, {A, ACK, 1, 1, 1000, 1000, ES, PASS},
			{A, ACK, 1001, 1, 1000, 1000, ES, PASS},
			{A, ACK, 2001, 1, 1000, 1, ES, PASS}, // a probe of the closed window
			{A, ACK, 2002, 1, 1000, 0, ES, PASS}, // after it
			{A, ACK, 2002, 1, 1000, 1, ES, WINDOW},
			{A, ACK, 2003, 1, 1000, 0, ES, WINDOW},
			{B, ACK, 1, 2001, 0, 0, ES, PASS},    // closed
			{A, ACK, 2001, 1, 1000, 1, ES, PASS}, // probes
			{B, ACK, 1, 2001, 0, 0, ES, PASS}, {A, ACK, 2001, 1, 1000, 1, ES, PASS},
			{B, ACK, 1, 2002, 2000, 0, ES, PASS}, // open again
			{A, ACK, 2002, 1, 1000, 1000, ES, PASS}}},
	{"scaled window",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS, 1 + 4},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS, 1 + 7},
			{A, ACK, 1, 1, 1000, 0, ES, PASS},
			{A, ACK, 2001, 1, 1000, 1, ES, PASS}, // SYN's window is not scaled
			{A, ACK, 2003, 1, 1000, 1, ES, WINDOW}, {B, ACK, 1, 1, 2000, 0, ES, PASS},
			{A, ACK, 1 + (2000 << 7), 1, 1000, 1, ES, PASS},
			{A, ACK, 3 + (2000 << 7), 1, 1000, 1, ES, WINDOW},
			{B, ACK, 1 + 16000, 1, 2000, 1, ES, PASS},
			{B, ACK, 2 + 16000, 1, 2000, 1, ES, WINDOW}}},
	{"scaling that only one end offers",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS, 1 + 4},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS}, {A, ACK, 1, 1, 1000, 0, ES, PASS},
			{B, ACK, 1 + 1000, 1, 2000, 1, ES, PASS},
			{B, ACK, 2 + 1000, 1, 2000, 1, ES, WINDOW}}},
	{"scaling that only the answer offers",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS, 1 + 7},
			{A, ACK, 1, 1, 1000, 0, ES, PASS}, {B, ACK, 1, 1, 2000, 0, ES, PASS},
			{A, ACK, 2002, 1, 1000, 1, ES, WINDOW}}},
	{"a shift of more than 14 counts as 14",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS, 1 + 0},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS, 1 + 200},
			{A, ACK, 1, 1, 1000, 0, ES, PASS}, {B, ACK, 1, 1, 2, 0, ES, PASS},
			{A, ACK, 1 + 32768, 1, 1000, 1, ES, PASS},
			{A, ACK, 3 + 32768, 1, 1000, 1, ES, WINDOW}}},
	{"a window that shrinks is remembered at its widest",
		.row = {OPEN, {B, ACK, 1, 1, 10, 0, ES, PASS}, {A, ACK, 1, 1, 1000, 1000, ES, PASS},
			{A, ACK, 1001, 1, 1000, 1000, ES, PASS}}},
	{"keep-alive",
		.row = {OPEN, {A, ACK, 1, 1, 1000, 100, ES, PASS},
			{B, ACK, 1, 101, 2000, 0, ES, PASS}, {A, ACK, 100, 1, 1000, 0, ES, PASS},
			{B, ACK, 1, 101, 2000, 0, ES, PASS},
			{A, ACK, 100, 1, 1000, 1, ES, PASS}, // with an octet of garbage
			{B, ACK, 0, 101, 2000, 0, ES, PASS}, {A, ACK, 101, 1, 1000, 0, ES, PASS}}},
	{"old copies", .row = {OPEN, {A, ACK, 1, 1, 1000, 1000, ES, PASS},
			       {B, ACK, 1, 1001, 2000, 0, ES, PASS},
			       {A, ACK, 1001, 1, 1000, 1000, ES, PASS},
			       {B, ACK, 1, 2001, 2000, 0, ES, PASS},
			       {A, ACK, 2001, 1, 1000, 1000, ES, PASS},
			       {B, ACK, 1, 3001, 2000, 0, ES, PASS},
			       {A, ACK, 1, 1, 1000, 1000, ES, PASS},           // one window old
			       {A, ACK, 1, 1, 1000, 999, ES, PASS},            // older
			       {A, ACK, UINT32_MAX, 1, 1000, 999, ES, WINDOW}, // was never sent
			       {A, ACK, 1, 2, 1000, 999, ES, WINDOW},
			       {B, ACK, 1, 1001, 2000, 0, ES, PASS}, // old acknowledgements
			       {B, ACK, 1, 1000, 2000, 0, ES, WINDOW}}},
	{"an old copy of data with FIN adds nothing",
		.row = {OPEN, {B, ACK, 1, 1, 9000, 0, ES, PASS},
			{A, ACK, 1, 1, 1000, 9000, ES, PASS}, {B, ACK, 1, 9001, 9000, 0, ES, PASS},
			{A, ACK, 9001, 1, 1000, 5000, ES, PASS},
			{B, ACK, 1, 14001, 9000, 0, ES, PASS},
			{A, ACK | FIN, 1, 1, 1000, 4000, ES, PASS},
			{A, ACK | FIN, 14001, 1, 1000, 0, FW, PASS},
			{B, SYN | ACK, 0, 1, 2000, 0, FW, PASS}}},
	{"acknowledgement of what was not sent",
		.row = {OPEN, {A, ACK, 1, 1, 1000, 100, ES, PASS},
			{B, ACK, 1, 102, 2000, 0, ES, WINDOW},
			{B, ACK, 1, 101 + 0x70000000, 2000, 0, ES, WINDOW},
			{B, ACK, 1, 101, 2000, 0, ES, PASS}}},
	{"blind text", .row = {OPEN, {A, ACK, 0x20000000, 1, 1000, 100, ES, WINDOW},
			       {A, ACK, 0x80000000, 1, 1000, 100, ES, WINDOW},
			       {A, ACK | FIN, 0xc0000000, 1, 1000, 0, ES, WINDOW},
			       {A, ACK, 1, 0x20000000, 1000, 100, ES, WINDOW},
			       {A, ACK, 1, 1, 1000, 100, ES, PASS}}},
	{"the opener has forgotten the connection", // RFC 9293 3.5.1
		.row = {OPEN, {A, SYN, 400000, 0, 1000, 0, ES, PASS},
			{B, ACK, 1, 1, 2000, 0, ES, PASS}, {A, RST, 1, 0, 0, 0, CL, PASS},
			{A, SYN, 400000, 0, 1000, 0, SS, PASS},
			{B, SYN | ACK, 9000, 400001, 2000, 0, SR, PASS},
			{A, ACK, 400001, 9001, 1000, 0, ES, PASS}}},
	{"both ends have forgotten the connection",
		.row = {OPEN, {A, SYN, 400000, 0, 1000, 0, ES, PASS, 1 + 1},
			{B, SYN | ACK, 9000, 400002, 2000, 0, ES, WINDOW, 1 + 2},
			{B, SYN | ACK, 9000, 400001, 2000, 0, SR, PASS, 1 + 2},
			{A, ACK, 400001, 9001, 1000, 0, ES, PASS},
			{B, ACK, 9001, 400001, 2000, 100, ES, PASS},
			{A, ACK, 400001, 9101, 1000, 8000, ES, PASS},
			{B, ACK, 1, 1, 2000, 0, ES, WINDOW}}},
	{"both ends have forgotten the connection, one of them also scaling",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS, 1 + 4},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS, 1 + 4},
			{A, ACK, 1, 1, 1000, 0, ES, PASS},
			{A, SYN, 400000, 0, 1000, 0, ES, PASS, 1 + 4},
			{B, SYN | ACK, 9000, 400001, 2000, 0, SR, PASS},
			{A, ACK, 400001, 9001, 1000, 0, ES, PASS},
			{B, ACK, 9001 + 1001, 400001, 2000, 1, ES, WINDOW},
			{B, ACK, 9001 + 1000, 400001, 2000, 1, ES, PASS}}},
	{"the server has an older connection",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS},
			{B, ACK, 12345, 54321, 2000, 0, SS, PASS},
			{A, RST, 54321, 0, 0, 0, SS, PASS}, {A, SYN, 0, 0, 1000, 0, SS, PASS},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS}}},
	{"out of order in the handshake",
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {A, ACK, 1, 1, 1000, 0, SS, WINDOW},
			{A, SYN | ACK, 0, 1, 1000, 0, SS, UNREAL},
			{B, ACK, 1, 1, 2000, 10, SS, WINDOW},
			{A, ACK | FIN, 1, 1, 2000, 0, SS, WINDOW},
			{B, SYN | ACK, 0, 1, 2000, 0, SR, PASS},
			{B, SYN, 0, 0, 2000, 0, SR, PASS}, // its own, without ACK
			{B, SYN, 77, 0, 2000, 0, SR, UNREAL},
			{A, SYN | ACK, 77, 1, 1000, 0, SR, UNREAL},
			{A, ACK, 1, 1, 1000, 0, ES, PASS}, {B, SYN, 77, 0, 2000, 0, ES, UNREAL},
			{A, SYN | ACK, 77, 1, 1000, 0, ES, UNREAL},
			{B, SYN | ACK, 77, 1, 1000, 0, ES, WINDOW}}},
	{"not opened: SYN-ACK",
		.row = {{A, SYN | ACK, 0, 1, 1000, 0, NO, UNOPEN},
			{A, ACK, 0, 1, 1000, 0, NO, UNOPEN}, {A, RST, 0, 0, 1000, 0, NO, UNOPEN},
			{A, ACK | FIN, 0, 1, 1000, 0, NO, UNOPEN},
			{A, RST | ACK, 0, 1, 1000, 0, NO, UNOPEN}}},
	{"liberal: out of window passes, but changes nothing", .liberal = true,
		.row = {OPEN, {A, ACK | FIN, 90000, 1, 1000, 0, ES, PASS},
			{A, RST, 90000, 1, 1000, 0, ES, PASS},
			{B, ACK, 1, 90001, 2000, 0, ES, PASS}, {B, SYN, 77, 0, 2000, 0, ES, UNREAL},
			{A, ACK, 1, 1, 1000, 100, ES, PASS},
			{B, ACK | FIN, 1, 101, 2000, 0, FW, PASS}}},
	{"liberal: only one direction comes by", .liberal = true,
		.row = {{A, SYN, 0, 0, 1000, 0, SS, PASS}, {A, ACK, 1, 1, 1000, 0, SS, PASS},
			{A, ACK, 1, 1, 1000, 1000, SS, PASS}}},
	{"picked up", .pick_up = true,
		.row = {{B, ACK | PSH, 5000, 7000, 10, 100, PU, PASS},
			{B, ACK | PSH, 900000, 7000, 10, 100, PU, PASS}, // the scale is not known
			{A, ACK, 7000, 900100, 500, 0, ES, PASS}, {B, RST, 5, 0, 0, 0, ES, PASS},
			{B, ACK | FIN, 900100, 7000, 10, 0, FW, PASS},
			{A, ACK | FIN, 7000, 900101, 500, 0, LA, PASS},
			{B, ACK, 900101, 7001, 10, 0, TW, PASS}}},
	{"picked up, and reset", .pick_up = true,
		.row = {{A, RST, 5000, 7000, 10, 0, NO, UNOPEN},
			{A, SYN | ACK, 5000, 7000, 10, 0, NO, UNOPEN},
			{A, ACK, 5000, 7000, 10, 0, PU, PASS}, {B, RST, 7001, 5000, 0, 0, PU, PASS},
			{B, RST, 7000, 5000, 0, 0, CL, PASS}}},
	{"picked up at its end", .pick_up = true,
		.row = {{A, ACK | FIN, 5000, 7000, 10, 0, FW, PASS},
			{B, ACK, 7000, 5001, 10, 0, CW, PASS}}},
	{"picked up, forgotten by an end, either of which may have begun", .pick_up = true,
		.row = {{A, ACK, 5000, 7000, 10, 0, PU, PASS},
			{B, ACK, 7000, 5000, 10, 0, ES, PASS}, {B, SYN, 100, 0, 1000, 0, ES, PASS},
			{A, ACK, 5000, 7000, 10, 0, ES, PASS},
			{A, SYN | ACK, 300, 101, 1000, 0, SR, PASS},
			{B, ACK, 101, 301, 1000, 0, ES, PASS},
			{B, ACK, 103 + 1000, 301, 1000, 0, ES, WINDOW}}},
};

static const char *state_name(enum flow_state state)
{
	return state == FLOW_FREE ? "none" : flow_state_info[state].name;
}

static const char *drop_name(enum drop d)
{
	return d == DROP_NONE ? "pass" : drop_info[d].name;
}

struct variant {
	uint32_t isn[2];
	bool a_is_higher, two_workers;
};

static void run_row(
	struct flows *s, const struct script *script, unsigned int i, const struct variant *v)
{
	const struct row *r = &script->row[i];
	enum end from = r->from, to = !from;
	uint32_t addr[2] = {
		v->a_is_higher ? 0x0a000002 : 0x0a000001, v->a_is_higher ? 0x0a000001 : 0x0a000002};
	uint16_t port[2] = {40000, 443};
	uint8_t buf[PACKET_MAX];
	struct flow_pkt p = flow_pkt_of(
		packet_tcp(buf, &(struct segment){
					.src = addr[from],
					.dst = addr[to],
					.sport = port[from],
					.dport = port[to],
					.flags = r->flags,
					.seq = v->isn[from] + r->seq,
					.ack = (r->flags & ACK) != 0 ? v->isn[to] + r->ack : 0,
					.window = r->window,
					.len = r->len,
					.scale = r->scale - 1,
				}));
	struct flow *f;
	enum drop d = flows_pass(s, v->two_workers ? from : 0, &p, 100 * i, &f);
	enum flow_state state;

	f = flows_find_one(s->t, &p);
	state = f != NULL ? flow_word_state(flow_word(f)) : FLOW_FREE;
	if (d != r->verdict || state != r->state)
		fail_msg("%s, row %u (isn %x %x, %s): %s in state %s, expected %s in state %s",
			script->name, i + 1, v->isn[A], v->isn[B],
			v->a_is_higher ? "A higher" : "B higher", drop_name(d), state_name(state),
			drop_name(r->verdict), state_name(r->state));
}

static void run_script(const struct script *script, const struct variant *v)
{
	struct flow_config config;
	struct flows s;

	flow_config_init(&config);
	config.strict = !script->liberal;
	config.pick_up = script->pick_up;
	flows_init(&s, 64, 2, &config);
	for (unsigned int i = 0; i < ROWS_MAX && script->row[i].flags != 0; i++)
		run_row(&s, script, i, v);
	flows_fini(&s);
}

static void test_scripts(void **state)
{
	static const uint32_t isns[][2] = {{1000, 500000}, {0, 0}, {UINT32_MAX, UINT32_MAX - 50},
		{UINT32_MAX - 1500, 0x7fffff00}, {0x80000000, 5}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(scripts); i++)
		for (size_t n = 0; n < COUNT_OF(isns); n++)
			for (unsigned int bits = 0; bits < 4; bits++)
				run_script(&scripts[i],
					&(struct variant){.isn = {isns[n][0], isns[n][1]},
						.a_is_higher = (bits & 1) != 0,
						.two_workers = (bits & 2) != 0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scripts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
