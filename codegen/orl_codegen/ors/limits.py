"""Every wait, retry and size that talking to a server is bounded by. Waits are in seconds, sizes in bytes.

They are read where they are used, as `limits.NAME`. A wait is that of a whole answer, with its retries and the pauses
between them, however it trickles in.
"""

from __future__ import annotations

CONNECT_WITHIN = 30.0
"""To get a connection."""

ANSWER_WITHIN = 60.0
"""A question that no environment has to work for (tasks, splits, variants), with all of its retries."""

ADVICE_WITHIN = 10.0
"""A question whose answer only makes an error more helpful: which secrets an environment requires."""

OPEN_WITHIN = 900.0
"""Each step of opening a session (its id, the task, the prompt, the tools), while its sandbox comes up. The platform's
sandboxes need up to nine minutes when many start at once."""

CALL_WITHIN = 3600.0
"""A tool call, or scoring a group, as long as the server answers pings; `OpenRewardSpec(call_timeout=...)` sets it."""

SLOT_WITHIN = 3600.0
"""Until a session may open, where `OpenRewardSpec(max_sessions=...)` has others end first. As long as a call."""

CLOSE_WITHIN = 60.0
"""Each of the two requests that end a session in the background."""

EXIT_WITHIN = 2.0
"""All sessions together, where something waits for them: the end of the process, or of a command."""

PING_EVERY = 10.0
"""Between two pings, and what each has to be answered within. A server gives up a session that it has not heard from
for 120 seconds (the platform) or 900 (the SDK's server)."""

PINGS_LOST = 5
"""In a row, until the session counts as lost."""

SILENT_FOR = 30.0
"""How long an event stream may say nothing before it counts as cut. Servers send a comment every 10 seconds."""

DRAIN_WITHIN = 0.25
"""To the end of an event stream behind its result. A stream that is read to its end leaves its connection reusable."""

IDLE_FOR = 4.0
"""How long a connection waits for its next request. uvicorn closes one after 5 seconds, and a call that is sent at that
moment is lost: nobody can tell whether it was carried out."""

SENDS = 3
"""How often a request is sent that may safely be sent again."""

RESUMES = 5
"""How often in a row an event stream is asked for that breaks off; one that lasted for `LASTING` starts anew."""

LASTING = 60.0
"""How long an attempt must last to begin the count anew: there are proxies that cut every long stream."""

OPENINGS = 3
"""How many sessions are tried until one opens."""

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
"""Between two attempts, doubled each time, unless the server asks for another pause (`Retry-After`)."""

LONGEST_BACK_OFF = 60.0
"""How long one answer of 429 keeps all other requests to its host back. Only the request that was answered so waits as
long as the server asks for: one answer, perhaps of a proxy, does not stop a whole run for an hour."""

SPREAD = 0.25
"""How much longer than that a request waits at the most, as a share, so that not all of them come back at once."""

ANSWER_BYTES = 32 * 1024 * 1024
"""One answer, or everything that a call streams, after decompression."""

TASKS_BYTES = 256 * 1024 * 1024
"""The tasks of a split in one answer, after decompression."""

SPECS_BYTES = 16 * 1024 * 1024
"""Everything different that an environment says about its tools, in all tasks that are probed, as JSON."""

SPEC_BYTES = 256 * 1024
"""The spec of one tool, as JSON. The largest of a thousand real ones has 15 KiB, and the model has to read it."""

CASSETTE_BYTES = 64 * 1024 * 1024
"""Everything that `orl-codegen record` keeps, as it is written. What does not fit passes, and is not recorded."""

DETAIL_BYTES = 64 * 1024
"""What is read of an answer that refuses a request."""


LOG_EVERY = 1.0
"""How long events of rollouts wait for further ones, where `log_rollouts=` uploads them."""

LOG_WITHIN = 60.0
"""A request that uploads such events, with its retries."""

LOG_EVENTS, LOG_BYTES = 128, 1_000_000
"""What goes into one of those requests, as JSON; a single event may be larger. The SDK takes as much."""

LOG_QUEUE_BYTES = 64 * 1024 * 1024
"""Events that wait to be uploaded, of one environment in one process, as JSON."""

LOG_FAILURES = 5
"""How many uploads may fail in a row until no further one is tried."""


def pause(attempt: int) -> float:
    """Seconds before the next attempt, after `attempt` of them."""
    return min(FIRST_PAUSE * 2.0 ** min(attempt - 1, 10), LONGEST_PAUSE)
