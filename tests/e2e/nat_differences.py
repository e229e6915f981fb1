# SPDX-License-Identifier: BSD-3-Clause
"""Where a gateway and the kernel differ in the test nat, and why. Each is found by what both did with one packet."""
import collections

from nat_packets import ACK, ESP, FIN, RST, SYN, TCP, read

# ends: both are in other states after it: the rest of the script is not compared.
Difference = collections.namedtuple("Difference", "name reason is_it ends")


def own_answer(c, step):
    """Neither forwards, and what comes is from an own address."""
    return all(p.came[step] == [] or all(c.is_own(read(packet).src) for _, packet in p.came[step])
               for p in (c.kernel, c.gateway)) and c.is_own(c.kernel.sent[step][1].dst)


def nothing(played, step):
    return played.came[step] == []


def error_about_old(c, step):
    """An error is dropped that quotes a segment which the other end has acknowledged."""
    p = c.gateway.sent[step][1]
    return p.is_error and p.quote.proto == TCP and nothing(c.gateway, step)


def answered_alone(c, step):
    """The gateway sends an answer of its own, the kernel nothing."""
    return nothing(c.kernel, step) and c.gateway.came[step] and \
        all(c.gateway.is_own_answer(step, read(packet)) for _, packet in c.gateway.came[step])


def rejected_stray(c, step):
    """What cannot begin a connection is rejected by a rule."""
    p = c.gateway.sent[step][1]
    begins = p.flags & (SYN | ACK | RST | FIN) in (SYN, ACK) if p.proto == TCP else p.kind[0] not in (0, 129)
    return not begins and answered_alone(c, step)


def rule_before_limits(c, step):
    """The kernel sends an error about the last hop or the size of a packet that a rule refuses."""
    came = [read(packet) for _, packet in c.kernel.came[step]]
    return c.script.rules and len(came) == 1 and came[0].kind in ((11, 0), (3, 4), (3, 0), (2, 0)) and \
        c.kernel.is_own_answer(step, came[0]) and all(read(packet).kind in ((3, 13), (1, 1)) for _, packet in c.gateway.came[step])


def error_about_refused(c, step):
    """An error about a connection whose first segment was answered by a reset."""
    p = c.gateway.sent[step][1]
    return p.is_error and p.quote.proto == TCP and nothing(c.kernel, step)


def port_of_refused(c, step):
    """A port that is free again for the kernel, because the connection with it was refused."""
    k, g = (p.forwarded(step) for p in (c.kernel, c.gateway))
    sent = c.kernel.sent[step][1]
    return k and g and k[2].sport == sent.sport != g[2].sport and \
        any(p.flags & RST and p.dst == k[2].src and p.dport == sent.sport for _, p in c.kernel.sent[:step])


def error_refused(c, step):
    """An error whose own ends a rule refuses."""
    return c.script.rules and c.gateway.sent[step][1].is_error and not c.gateway.sent[step][1].dst in c.script.own and \
        all(c.gateway.is_own_answer(step, read(packet)) for _, packet in c.gateway.came[step])


def looks_like_reply(c, step):
    """A packet that is a reply but for the translation of the connection."""
    p = c.gateway.sent[step][1]
    return p.payload == b"unasked" and nothing(c.gateway, step)


def esp_for_itself(c, step):
    p = c.gateway.sent[step][1]
    return p.proto == ESP and c.is_own(p.dst) and nothing(c.gateway, step)


def own_source(c, step):
    """An error of the router itself about a packet whose destination it translates."""
    came = [[read(packet) for _, packet in p.came[step]] for p in (c.kernel, c.gateway)]
    if [len(packets) for packets in came] != [1, 1]:
        return False
    (k,), (g,) = came
    return k.is_error and k.kind == g.kind and k.dst == g.dst and k.src == k.quote.dst and c.is_own(g.src) and \
        c.packets(k.quote, g.quote, step, False, True) is None


DIFFERENCES = (
    Difference("answers of the router itself",
               "The gateway has no services: TCP and UDP to it get an ICMP error, by the address of the port that they came by.",
               own_answer, False),
    Difference("errors about old segments",
               "The gateway accepts errors about unacknowledged segments alone (RFC 5927 4.1), the kernel about all of a connection.",
               error_about_old, False),
    Difference("strays that rules reject",
               "Rules of the gateway decide before connection tracking: a sender that they reject gets a reset, also for a "
               "segment that is invalid, which the kernel drops before.",
               rejected_stray, False),
    Difference("rules before limits",
               "A sender that a rule refuses learns nothing else: rules of the gateway decide before hop limit and MTU, "
               "those of the kernel's forward chain after them.",
               rule_before_limits, False),
    Difference("errors about refused connections",
               "The kernel forgets a connection with the reset that refuses it, the gateway after tcp_close.",
               error_about_refused, False),
    Difference("ports of refused connections",
               "So the port of a refused connection is in use for tcp_close.",
               port_of_refused, True),
    Difference("errors that rules refuse",
               "Rules that drop or reject without a state are for errors as well, by the ends of the error.",
               error_refused, False),
    Difference("untranslated replies",
               "The kernel takes it for a new connection, whose own ports must then change. The gateway knows the flow, "
               "and that its packets do not come like this.",
               looks_like_reply, True),
    Difference("ESP to the gateway",
               "ESP to an own address is for SAs of the gateway: of clients behind that address, ESP in UDP alone returns.",
               esp_for_itself, False),
    Difference("sources of own errors",
               "An error of the gateway itself is from the gateway, so that traceroute shows it. The kernel has it come from "
               "the address that is forwarded, as if it were the server's.",
               own_source, False),
)


def find(c, step):
    return next((d for d in DIFFERENCES if d.is_it(c, step)), None)
