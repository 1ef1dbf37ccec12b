//! Tasks, what they share, streams, and calls of the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use harn_lang::bytecode::{Program, Source};
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::fault::Fault;
use harn_lang::value::{Dict, Text, Value};
use harn_lang::vm::{Limits, State, Turn, Vm};
use support::{fails, prints, run, run_with};

#[test]
fn a_task_runs_when_its_parent_waits_and_prints_when_it_is_awaited() {
    prints(&[
        (
            "let h = spawn {\n println(\"in task\")\n 5\n}\nprintln(\"before\")\nsleep(5)\nprintln(\"still before\")\nprintln(await(h))",
            "before\nstill before\nin task\n5\n",
        ),
        (
            "let h = spawn {\n println(\"outer 1\")\n let inner = spawn { println(\"inner\") }\n println(\"outer 2\")\n await(inner)\n println(\"outer 3\")\n}\nprintln(\"main\")\nawait(h)",
            "main\nouter 1\nouter 2\ninner\nouter 3\n",
        ),
        ("spawn { println(\"lost\") }\nsleep(5)\nprintln(\"end\")", "end\n"),
        ("let h = spawn { println(\"lost\") }\ncancel(h)\nprintln(\"end\")", "end\n"),
        ("let h = spawn { 5 }\nprintln(await(h)); println(await(h)); println(await(7))", "5\nnil\n7\n"),
        (
            "let h = spawn { 5 }\nprintln(h); println(type_of(h)); println(h == h)",
            "<task:vm_task_1>\ntask_handle\ntrue\n",
        ),
        ("let h = spawn {\n return 1\n 2\n}\nprintln(await(h))", "1\n"),
        ("var n = 1\nlet h = spawn {\n n = n + 1\n n\n}\nn = 10\nprintln(await(h)); println(n)", "2\n10\n"),
        ("println(try { await(spawn { throw {a: 1} }) } catch (e) { e.a })", "1\n"),
    ]);
}

#[test]
fn errors_of_the_machine_that_leave_a_task_name_their_line() {
    prints(&[
        (
            "let h = spawn {\n 1 / 0\n}\nprintln(try { await(h) } catch (e) { e })",
            "Division by zero (line 2)\n",
        ),
        (
            "println(try { [1].map({ x -> x.y.z }) } catch (e) { e })",
            "Type error: cannot access property `y` on int (line 1)\n",
        ),
        ("println(try { await(spawn { throw \"x\" }) } catch (e) { e })", "x\n"),
        (
            "println(parallel settle [1, 0, 2] { x ->\n if x == 2 { throw \"boom\" }\n 10 / x\n})",
            "{failed: 2, results: [Result.Ok(10), Result.Err(Division by zero (line 3)), Result.Err(Thrown: boom)], succeeded: 1}\n",
        ),
        (
            "let f = { x -> throw {code: x} }\nprintln((parallel settle [1] { x -> f(x) }).results[0])\nprintln(unwrap_err((parallel each [1] { x -> try { f(x) } })[0]).code)",
            "Result.Err(Thrown: {code: 1})\n1\n",
        ),
    ]);
    fails(&[("await(spawn {\n undefined_thing\n})", "Undefined variable: undefined_thing (line 2)")]);
}

#[test]
fn parallel_gives_results_and_output_in_the_order_of_its_source() {
    prints(&[
        ("println(parallel 3 { i -> i * 10 })", "[0, 10, 20]\n"),
        (
            "println(parallel each [3, 1, 2] { x ->\n sleep(x * 10)\n println(x)\n x * 2\n})",
            "3\n1\n2\n[6, 2, 4]\n",
        ),
        (
            "let r = try { parallel each [1, 2, 3] { x ->\n println(\"task ${x}\")\n if x > 1 { throw \"error ${x}\" }\n sleep(5)\n x\n} } catch (e) { e }\nprintln(r)",
            "task 1\ntask 2\ntask 3\nerror 2\n",
        ),
        (
            "println(parallel each nil { x -> x }); println(parallel settle \"a\" { x -> x }); println(parallel each 5 { x -> x })",
            "nil\nnil\nnil\n",
        ),
        (
            "println(parallel each set(1, 2) { x -> x }); println(parallel each [] { x -> x }); println(parallel each 1 to 3 { x -> x })",
            "[1, 2]\n[]\n[1, 2, 3]\n",
        ),
        (
            "let n = atomic(0)\nlet most = atomic(0)\nparallel each [1, 2, 3, 4, 5] with { max_concurrent: 2 } { x ->\n let now = atomic_add(n, 1) + 1\n if now > atomic_get(most) { atomic_set(most, now) }\n sleep(x)\n atomic_add(n, -1)\n}\nprintln(most)",
            "<atomic:2>\n",
        ),
        ("println(parallel 3 with { max_concurrent: 0 } { x -> x })", "[0, 1, 2]\n"),
        (
            "for x in parallel each [30, 10, 20] { x ->\n sleep(x)\n x\n} as stream { println(x) }",
            "10\n20\n30\n",
        ),
        (
            "let s = parallel each [30, 10, 20, 5] with { max_concurrent: 2 } { x ->\n sleep(x)\n x\n} as stream\nprintln(s); println(to_list(s)); println(s)",
            "<stream>\n[10, 30, 20, 5]\n<stream (done)>\n",
        ),
        // They end while nobody asks, and are still told in the order in which they ended.
        (
            "let s = parallel each [9, 5, 7, 1] { x ->\n sleep(x)\n x\n} as stream\nprintln(s.next().value)\nsleep(50)\nprintln(to_list(s))",
            "1\n[5, 7, 9]\n",
        ),
        // What a block has started ends with the block.
        (
            "let n = atomic(0)\nlet r = try {\n deadline 5ms {\n  parallel 2 { i ->\n   sleep(10)\n   atomic_add(n, 1)\n  }\n }\n} catch (e) { e }\nsleep(50)\nprintln(r); println(n)",
            "Deadline exceeded\n<atomic:0>\n",
        ),
    ]);
}

#[test]
fn a_race_is_won_by_the_first_result() {
    prints(&[
        (
            "println(parallel_race([30, 10, 20], { x ->\n sleep(x)\n println(\"at ${x}\")\n if x == 10 { throw \"bad\" }\n x\n}))",
            "at 20\n20\n",
        ),
        ("println(try { parallel_race([1, 2], { x -> throw \"no ${x}\" }) })", "Result.Err(no 1)\n"),
        ("println(parallel_race([], { x -> x }))", "nil\n"),
        ("println(parallel_race([\"a\", \"b\"], uppercase))", "A\n"),
        (
            "let n = atomic(0)\nprintln(parallel_race([5, 6, 7], { x ->\n atomic_add(n, 1)\n sleep(x)\n x\n}, {max_concurrent: 1}))\nprintln(n)",
            "5\n<atomic:1>\n",
        ),
    ]);
    fails(&[("parallel_race(5, { x -> x })", "parallel_race: expected a list, got int")]);
}

#[test]
fn channels_and_select() {
    prints(&[
        (
            "let ch = channel(\"c\", 2)\nspawn {\n for i in 1 to 4 { send(ch, i) }\n close_channel(ch)\n}\nfor x in ch { print(x) }\nprintln(\"\")",
            "1234\n",
        ),
        (
            "let c = channel(\"c\")\nprintln(send(c, 1)); close_channel(c); println(send(c, 2)); println(receive(c)); println(receive(c)); println(try_receive(c)); println(c)",
            "true\nfalse\n1\nnil\nnil\n<channel:c>\n",
        ),
        ("println(channel())", "<channel:default>\n"),
        (
            "let a = channel(\"a\")\nlet b = channel(\"b\")\nsend(b, 7)\nprintln(channel_select([a, b])); println(channel_select([a, b], 10ms)); println(channel_select([a, b], 0))",
            "{channel: b, index: 1, value: 7}\n{channel: nil, index: -1, value: nil}\n{channel: nil, index: -1, value: nil}\n",
        ),
        (
            "let a = channel(\"a\")\nlet b = channel(\"b\")\nclose_channel(a)\nsend(b, nil)\nclose_channel(b)\nprintln(channel_select([a, b])); println(channel_select([a, b]))",
            "{channel: b, index: 1, value: nil}\n{channel: nil, index: -1, value: nil}\n",
        ),
        (
            "let a = channel(\"a\")\nlet b = channel(\"b\")\nspawn {\n sleep(1)\n send(b, \"late\")\n}\nclose_channel(a)\nselect {\n x from a { println(\"a ${x}\") }\n y from b { println(\"b ${y}\") }\n}",
            "b late\n",
        ),
    ]);
    fails(&[
        ("send(5, 1)", "first argument must be a channel"),
        ("receive(nil)", "first argument must be a channel"),
        ("channel_select([5])", "select: expected a channel, got int"),
        ("receive(channel())", "deadlock: every task waits for another one"),
        ("atomic_get(5)", "first argument must be an atomic"),
    ]);
}

#[test]
fn cancellation() {
    prints(&[
        (
            "let h = spawn {\n var n = 0\n while !is_cancelled() {\n  n = n + 1\n  sleep(10ms)\n }\n println(\"bye\")\n n\n}\nsleep(35ms)\nprintln(cancel_graceful(h))",
            "bye\nResult.Ok(4)\n",
        ),
        (
            "let h = spawn {\n println(\"lost\")\n sleep(100s)\n}\nprintln(cancel_graceful(h, 20ms)); println(monotonic_ms()); println(try { await(h) })",
            "Result.Err(kind:cancelled:VM cancelled by host)\n20\nResult.Ok(nil)\n",
        ),
        (
            "let h = spawn { throw \"x\" }\nprintln(cancel_graceful(h)); println(cancel_graceful(3))",
            "Result.Err(x)\nResult.Ok(3)\n",
        ),
        (
            "let h = spawn { sleep(1s) }\ncancel(h)\ncancel(h)\nprintln(try { await(h) } catch (e) { e }); println(error_category(\"x\")); println(is_cancelled())",
            "kind:cancelled:VM cancelled by host\ngeneric\nfalse\n",
        ),
        // With a task go those that it has started.
        (
            "let n = atomic(0)\nlet h = spawn {\n let inner = spawn {\n  sleep(10)\n  atomic_add(n, 1)\n }\n await(inner)\n}\nsleep(1)\ncancel(h)\nsleep(50)\nprintln(n)",
            "<atomic:0>\n",
        ),
        // A task that cancels itself, or the one that started it, ends there.
        (
            "let ch = channel(\"c\")\nlet h = spawn {\n let me = receive(ch)\n cancel(me)\n println(\"not reached\")\n}\nsend(ch, h)\nprintln(try { await(h) } catch (e) { e })",
            "kind:cancelled:VM cancelled by host\n",
        ),
        (
            "let ch = channel(\"c\")\nlet n = atomic(0)\nlet h = spawn {\n let inner = spawn {\n  cancel(receive(ch))\n  atomic_add(n, 1)\n }\n await(inner)\n}\nsend(ch, h)\nprintln(try { await(h) } catch (e) { e }); println(n)",
            "kind:cancelled:VM cancelled by host\n<atomic:0>\n",
        ),
    ]);
}

#[test]
fn locks_are_fair_and_given_back() {
    prints(&[
        (
            "let p = sync_mutex_acquire(\"k\")\nprintln(p); println(type_of(p)); println(sync_mutex_acquire(\"k\", 10ms)); println(sync_release(p)); println(sync_release(p)); println(sync_metrics(\"mutex\", \"k\"))",
            "<sync_permit:mutex:k>\nsync_permit\nnil\ntrue\nfalse\n{acquired: 1, capacity: 1, held: 0, key: k, kind: mutex, most_waiting: 1, released: 1, timed_out: 1, waiting: 0}\n",
        ),
        (
            "println(sync_metrics(\"mutex\", \"none\")); println(sync_metrics()); sync_gate_acquire(\"g\", 3); println(sync_metrics(\"gate\").map({ lock -> [lock.key, lock.capacity, lock.held] }))",
            "nil\n[]\n[[g, 3, 1]]\n",
        ),
        // A writer that waits comes before readers that came later.
        (
            "let order = shared_cell(\"order\", [])\nfn note(x) { shared_set(\"order\", shared_get(\"order\").push(x)) }\nlet first = sync_rwlock_acquire(\"rw\", \"read\")\nlet w = spawn {\n let p = sync_rwlock_acquire(\"rw\", \"write\")\n note(\"w\")\n sync_release(p)\n}\nlet r = spawn {\n let p = sync_rwlock_acquire(\"rw\", \"read\")\n note(\"r\")\n sync_release(p)\n}\nsleep(1)\nprintln(sync_rwlock_acquire(\"rw\", \"read\", 0))\nnote(\"release\")\nsync_release(first)\nawait(r)\nawait(w)\nprintln(shared_get(order))",
            "nil\n[release, w, r]\n",
        ),
        // One that gives up lets the next one in.
        (
            "let r = sync_rwlock_acquire(\"q\", \"read\")\nlet w = spawn { sync_rwlock_acquire(\"q\", \"write\", 10ms) }\nlet other = spawn {\n sleep(1)\n sync_rwlock_acquire(\"q\", \"read\", 100ms) != nil\n}\nprintln(await(other)); println(await(w)); println(monotonic_ms())",
            "true\nnil\n10\n",
        ),
        // So does one that is interrupted or cancelled.
        (
            "let p = sync_mutex_acquire(\"k\")\nlet a = spawn { try { deadline 5ms { sync_mutex_acquire(\"k\") } } catch (e) { e } }\nlet b = spawn { sync_mutex_acquire(\"k\") }\nlet c = spawn {\n sync_mutex_acquire(\"k\")\n \"c has it\"\n}\nsleep(10)\ncancel(b)\nsync_release(p)\nprintln(await(a)); println(await(c))",
            "Deadline exceeded\nc has it\n",
        ),
        // What a task holds when it ends is given back.
        (
            "let t = spawn { mutex { sleep(100s) } }\nsleep(1)\ncancel(t)\nmutex { println(\"got it\") }\nawait(spawn { sync_mutex_acquire(\"held\") })\nprintln(sync_mutex_acquire(\"held\", 0) != nil)",
            "got it\ntrue\n",
        ),
        (
            "let all = sync_semaphore_acquire(\"s\", 3, 2)\nprintln(sync_semaphore_acquire(\"s\", 3, 2, 5ms)); println(sync_semaphore_acquire(\"s\", 3)); println(sync_semaphore_acquire(\"s\", 3, 1, 0))",
            "nil\n<sync_permit:semaphore:s>\nnil\n",
        ),
        (
            "let out = parallel 3 { i ->\n mutex {\n  sleep(3 - i)\n  shared_set(shared_cell(\"done\"), (shared_get(\"done\") ?? []).push(i))\n }\n}\nprintln(out); println(shared_get(\"done\"))",
            "[nil, nil, nil]\n[0, 1, 2]\n",
        ),
    ]);
    fails(&[
        ("sync_semaphore_acquire(\"s\", 2, 3)", "sync_semaphore_acquire: 3 permits of 2 can never be had"),
        ("sync_rwlock_acquire(\"s\", \"x\")", "the mode is \"read\" or \"write\", not x"),
        ("mutex { mutex { println(1) } }", "deadlock: every task waits for another one"),
    ]);
}

#[test]
fn the_timer_of_a_wait_ends_with_it() {
    prints(&[
        (
            "let ch = channel(\"x\")\nlet r = try { deadline 5ms { channel_select([ch], 1000) } } catch (e) { e }\nlet before = monotonic_ms()\nchannel_select([ch], 50)\nprintln(r); println(monotonic_ms() - before)",
            "Deadline exceeded\n50\n",
        ),
        (
            "let t = spawn { try { deadline 5ms { sleep(50) } } catch (e) { \"task: \" + e } }\nprintln(await(t)); println(monotonic_ms())",
            "task: Deadline exceeded\n5\n",
        ),
        (
            "println(try { deadline 50ms { deadline 5ms { sleep(100) } } } catch (e) { e }); println(monotonic_ms())",
            "Deadline exceeded\n5\n",
        ),
    ]);
}

#[test]
fn shared_cells_and_maps() {
    prints(&[
        (
            "let c = shared_cell(\"n\", 1)\nprintln(c); println(shared_snapshot(c)); println(shared_set(c, 5)); println(shared_get(c)); println(shared_cell(\"n\", 9) == c); println(shared_get(\"n\"))",
            "{_type: shared_cell, key: n, scope: task_group, scope_id: task_group:task_root}\n{value: 1, version: 0}\n1\n5\ntrue\n5\n",
        ),
        (
            "let c = shared_cell(\"n\", 1)\nlet s = shared_snapshot(c)\nprintln(shared_cas(c, s, 2)); println(shared_cas(c, s, 3)); println(shared_cas(c, 2, 4)); println(shared_cas(c, 2, 5)); println(shared_snapshot(c)); println(shared_metrics(c))",
            "true\nfalse\ntrue\nfalse\n{value: 4, version: 2}\n{cas_failure: 2, cas_success: 2, key: n, reads: 2, scope_id: task_group:task_root, version: 2, writes: 0}\n",
        ),
        (
            "let c = shared_cell(\"n\", 0)\nparallel 5 { i ->\n var done = false\n while !done {\n  let s = shared_snapshot(c)\n  sleep(i)\n  done = shared_cas(c, s, s.value + i)\n }\n}\nprintln(shared_get(c))",
            "10\n",
        ),
        (
            "let m = shared_map({key: \"m\", scope: \"tenant\", initial: {a: 1}})\nprintln(m); println(shared_map_set(m, \"b\", 2)); println(shared_map_entries(m)); println(shared_map_get(m, \"x\", \"none\")); println(shared_map_get(m, \"a\"))",
            "{_type: shared_map, key: m, scope: tenant, scope_id: tenant:default}\nnil\n{a: 1, b: 2}\nnone\n1\n",
        ),
        (
            "let m = shared_map(\"m\")\nlet s = shared_map_snapshot(m, \"k\")\nprintln(s); println(shared_map_cas(m, \"k\", s, 1)); println(shared_map_cas(m, \"k\", s, 2)); println(shared_map_cas(m, \"k\", 1, 3)); println(shared_map_snapshot(m, \"k\")); println(shared_map_delete(m, \"k\")); println(shared_map_delete(m, \"k\")); shared_map_set(m, \"k\", 3); println(shared_map_snapshot(m, \"k\")); println(shared_metrics(m))",
            "{value: nil, version: 0}\ntrue\nfalse\ntrue\n{value: 3, version: 2}\n3\nnil\n{value: 3, version: 3}\n{cas_failure: 1, cas_success: 2, entries: 1, key: m, reads: 3, scope_id: task_group:task_root, writes: 3}\n",
        ),
        (
            "println(shared_scope_id()); println(shared_scope_id(\"task\")); println(await(spawn { shared_scope_id(\"task\") })); println(shared_scope_id(\"tenant\", {scope_id: \"acme\"}))",
            "task_group:task_root\ntask:task_root\ntask:task_root:spawn:1\ntenant:acme\n",
        ),
        (
            "let a = shared_cell({key: \"x\", scope: \"task\"}, 1)\nlet b = await(spawn { shared_get(shared_cell({key: \"x\", scope: \"task\"}, 2)) })\nprintln([shared_get(a), b])",
            "[1, 2]\n",
        ),
    ]);
    fails(&[
        ("shared_get(5)", "shared_get: expected a shared cell, got int"),
        ("shared_get(\"x\")", "shared_get: there is no shared cell 'x' in task_group:task_root"),
        ("shared_map_get(shared_cell(\"c\"), \"k\")", "shared_map_get: expected a shared map, got dict"),
        ("shared_cell({key: \"a\", scope: \"galaxy\"})", "unknown scope 'galaxy'"),
        ("shared_cell(nil)", "shared_cell: expected a key"),
    ]);
}

#[test]
fn mailboxes() {
    prints(&[
        (
            "let box = mailbox_open(\"inbox\", 2)\nprintln(box)\nlet t = spawn {\n var got = []\n while true {\n  let item = mailbox_receive(\"inbox\")\n  if item == nil { return got }\n  got = got.push(item)\n }\n}\nfor i in 1 to 5 { mailbox_send(box, i) }\nprintln(mailbox_close(box)); println(mailbox_close(box)); println(await(t)); println(mailbox_send(box, 6)); println(mailbox_metrics(box)); println(mailbox_lookup(\"inbox\"))",
            "{_type: mailbox, capacity: 2, name: inbox, scope: task_group, scope_id: task_group:task_root}\ntrue\nfalse\n[1, 2, 3, 4, 5]\nfalse\n{capacity: 2, closed: true, depth: 0, name: inbox, received: 5, rejected: 1, sent: 5}\nnil\n",
        ),
        (
            "let a = mailbox_open({name: \"x\", capacity: 1})\nprintln(mailbox_open(\"x\", 9) == a); println(mailbox_lookup(\"x\") == a); println(mailbox_lookup(\"y\")); println(mailbox_send(\"y\", 1)); println(mailbox_try_receive(a)); println(mailbox_receive(a, 5ms)); mailbox_send(\"x\", \"hi\"); println(mailbox_try_receive(a))",
            "true\ntrue\nnil\nfalse\nnil\nnil\nhi\n",
        ),
    ]);
    fails(&[
        ("mailbox_receive(\"x\")", "mailbox_receive: there is no mailbox 'x' in task_group:task_root"),
        ("mailbox_send(5, 1)", "mailbox_send: expected a mailbox, got int"),
    ]);
}

#[test]
fn supervisors_start_again_what_fails() {
    prints(&[
        (
            "let n = atomic(0)\nlet s = supervisor_start({name: \"s\", backoff: {initial: 10ms}, children: [\n {name: \"a\", restart: \"transient\", task: { ->\n  let run = atomic_add(n, 1)\n  println(\"run ${run} at ${monotonic_ms()}\")\n  if run < 2 { throw \"boom\" }\n }},\n {name: \"b\", task: { -> while !is_cancelled() { sleep(5ms) } }}\n]})\nprintln(s)\nsleep(100ms)\nprintln(supervisor_state(s))\nfor event in supervisor_events(s) { println(event) }\nprintln(supervisor_stop(s).children.map({ child -> [child.name, child.status] }))\nprintln(supervisor_metrics(s)); println(supervisor_state(s.id).status)",
            "{_type: supervisor, id: task_root:supervisor:1, name: s}\nrun 0 at 0\nrun 1 at 10\nrun 2 at 30\n{children: [{last_error: boom, name: a, restart: transient, restarts: 2, status: completed}, {last_error: nil, name: b, restart: permanent, restarts: 0, status: running}], id: task_root:supervisor:1, max_restarts: 3, name: s, restarts: 2, status: running, strategy: one_for_one}\n{child: nil, kind: supervisor_started, seq: 1}\n{attempt: 1, child: a, delay_ms: 0, kind: child_started, seq: 2}\n{attempt: 1, child: b, delay_ms: 0, kind: child_started, seq: 3}\n{child: a, error: boom, kind: child_failed, seq: 4}\n{attempt: 2, child: a, delay_ms: 10, kind: child_restarted, seq: 5}\n{child: a, error: boom, kind: child_failed, seq: 6}\n{attempt: 3, child: a, delay_ms: 20, kind: child_restarted, seq: 7}\n{child: a, kind: child_completed, seq: 8}\n[[a, completed], [b, stopped]]\n{children: 2, completed: 1, events: 10, failures: 2, restarts: 2, running: 0, starts: 4}\nstopped\n",
        ),
        (
            "let s = supervisor_start({strategy: \"one_for_all\", max_restarts: 1, children: [\n {name: \"a\", fn: { me ->\n  println(\"a ${me.attempt}\")\n  sleep(10s)\n }},\n {id: \"b\", fn: { me ->\n  println(\"b ${me.attempt}\")\n  sleep(5)\n  throw \"b broke\"\n }}\n]})\nsleep(50)\nlet state = supervisor_state(s)\nprintln([state.status, state.restarts]); println(state.children.map({ child -> [child.name, child.status] }))\nprintln(supervisor_events(s).map({ event -> event.kind })[-2:])",
            "a 1\nb 1\na 2\nb 2\n[failed, 1]\n[[a, stopped], [b, failed]]\n[child_stopped, supervisor_failed]\n",
        ),
        (
            "fn waits(me) {\n println(\"${me.name} ${me.attempt}\")\n sleep(10s)\n}\nlet s = supervisor_start({strategy: \"rest_for_one\", children: [\n {name: \"a\", fn: waits},\n {name: \"b\", fn: { me ->\n  println(\"b ${me.attempt}\")\n  sleep(5)\n  if me.attempt == 1 { throw \"b broke\" }\n  sleep(10s)\n }},\n {name: \"c\", fn: waits},\n {name: \"d\", restart: \"temporary\", fn: { -> throw \"once\" }}\n]})\nsleep(50)\nprintln(supervisor_state(s).children.map({ c -> [c.name, c.status, c.restarts] }))\nprintln(supervisor_stop(s, 0).children.map({ c -> c.status }))",
            "a 1\nb 1\nc 1\nb 2\nc 2\n[[a, running, 0], [b, running, 1], [c, running, 0], [d, failed, 0]]\n[stopped, stopped, stopped, failed]\n",
        ),
        (
            "let s = supervisor_start({max_restarts: 1, window: 10ms, children: [{name: \"a\", fn: { -> sleep(20) }}]})\nsleep(70)\nprintln(supervisor_state(s).status); println(supervisor_state(s).restarts)",
            "running\n3\n",
        ),
        (
            "let s = supervisor_start({children: [{restart: \"transient\", fn: { -> 1 }}]})\nsleep(1)\nprintln(supervisor_state(s).status); println(supervisor_state(s).children[0].name)",
            "completed\nchild_1\n",
        ),
    ]);
    fails(&[
        ("supervisor_state(\"nope\")", "supervisor_state: there is no supervisor 'nope'"),
        ("supervisor_start(5)", "supervisor_start: expected a dict, got int"),
        (
            "supervisor_start({strategy: \"x\"})",
            "strategy 'x' is unknown (known: one_for_one, one_for_all, rest_for_one)",
        ),
        ("supervisor_start({children: [{name: \"q\"}]})", "child 'q' has no function to run"),
        (
            "supervisor_start({children: [{name: \"q\", restart: \"sometimes\", fn: len}]})",
            "restart 'sometimes' is unknown",
        ),
        (
            "supervisor_start({children: [{name: \"q\", fn: len}, {name: \"q\", fn: len}]})",
            "two children are named 'q'",
        ),
    ]);
}

#[test]
fn circuit_breakers_rate_limits_and_timers() {
    prints(&[
        (
            "println(circuit_breaker(\"api\", 2, 100)); println(circuit_check(\"api\")); println(circuit_record_failure(\"api\")); println(circuit_record_failure(\"api\")); println(circuit_check(\"api\"))\nsleep(99)\nprintln(circuit_check(\"api\"))\nsleep(1)\nprintln(circuit_check(\"api\")); println(circuit_record_failure(\"api\")); println(circuit_check(\"api\"))\nsleep(100)\nprintln(circuit_check(\"api\")); println(circuit_record_success(\"api\")); println(circuit_check(\"api\"))",
            "api\nclosed\nfalse\ntrue\nopen\nopen\nhalf_open\ntrue\nopen\nhalf_open\nnil\nclosed\n",
        ),
        (
            "for i in 1 to 5 { circuit_record_failure(\"x\") }\nprintln(circuit_check(\"x\")); circuit_reset(\"x\"); println(circuit_check(\"x\")); println(circuit_check(\"unknown\"))",
            "open\nclosed\nclosed\n",
        ),
        (
            "let n = atomic(0)\nprintln(with_rate_limit(\"p\", { ->\n if atomic_add(n, 1) < 3 { throw \"HTTP 429\" }\n \"done\"\n})); println(monotonic_ms())",
            "done\n7000\n",
        ),
        (
            "let n = atomic(0)\nprintln(try { with_rate_limit(\"p\", { ->\n atomic_add(n, 1)\n throw_error(\"slow down\", \"rate_limit\")\n}, {max_retries: 2, backoff: 10ms}) } catch (e) { e.message }); println(n); println(monotonic_ms())",
            "slow down\n<atomic:3>\n30\n",
        ),
        (
            "println(try { with_rate_limit(\"p\", { -> 1 / 0 }) } catch (e) { e })",
            "Division by zero (line 1)\n",
        ),
        ("let t = timer_start(\"work\")\nsleep(12ms)\nprintln(timer_end(t))", "[timer] work: 12ms\n12\n"),
        ("let t = timer_start()\ntimer_end(t)", "[timer] default: 0ms\n"),
    ]);
    fails(&[("timer_end(5)", "timer_end: expected a timer, got int")]);
}

#[test]
fn the_context_of_a_task() {
    prints(&[
        (
            "println(task_current())\nprintln(await(spawn { task_current() }))",
            "{is_cancelled: false, kind: root, parent_task_id: nil, root_task_id: task_root, task_id: task_root}\n{is_cancelled: false, kind: spawn, parent_task_id: task_root, root_task_id: task_root, task_id: task_root:spawn:1}\n",
        ),
        (
            "println(parallel 2 { i -> runtime_context().task_id }); println(await(spawn { await(spawn { runtime_context().task_id }) })); println(await(spawn { runtime_context().task_id }))",
            "[task_root:parallel:1:0, task_root:parallel:1:1]\ntask_root:spawn:1:spawn:1\ntask_root:spawn:2\n",
        ),
        (
            "println(runtime_context_set(\"k\", 1))\nlet r = parallel 2 { i ->\n runtime_context_set(\"k\", runtime_context_get(\"k\") + i)\n runtime_context_values()\n}\nprintln(r); println(runtime_context_values()); println(runtime_context_set(\"k\", 3)); println(runtime_context_clear(\"k\")); println(runtime_context_clear(\"k\")); println(runtime_context_get(\"k\", \"none\"))",
            "nil\n[{k: 1}, {k: 2}]\n{k: 1}\n1\n3\nnil\nnone\n",
        ),
        (
            "let c = runtime_context()\nprintln(keys(c))",
            "[agent_name, agent_session_id, is_cancelled, kind, parent_task_id, root_task_id, run_id, task_group_id, task_id, tenant_id, trace_id, trigger_id, values, workflow_id, workflow_run_id]\n",
        ),
    ]);
}

#[test]
fn streams_over_anything() {
    prints(&[
        (
            "println(stream.collect(stream.map([1, 2, 3], { x -> x * 2 }))); println(stream.map([1], { x -> x })); println(type_of(stream.map([1], { x -> x })))",
            "[2, 4, 6]\n<stream>\nstream\n",
        ),
        (
            "println(stream.collect(stream.filter(1 to 10, { x -> x % 2 == 0 }), 3)); println(stream.fold([1, 2, 3], {init: 10}, { a, b -> a + b })); println(stream.fold(set(1, 2), 0, { a, b -> a + b })); println(to_list(stream.scan(iter([1, 2, 3]), 0, { a, b -> a + b })))",
            "[2, 4, 6]\n16\n3\n[1, 3, 6]\n",
        ),
        (
            "println(stream.first([])); println(stream.first(4 to 9)); println(to_list(stream.take(1 to 1000000000, 2))); println(to_list(stream.take_until([1, 2, 3, 1], { x -> x == 3 })))",
            "nil\n4\n[1, 2]\n[1, 2]\n",
        ),
        (
            "println(to_list(stream.tap([1, 2], { x -> println(\"saw ${x}\") }))); println(to_list(stream.interleave([1, 2, 5], [3, 4]))); println(to_list(stream.zip([1, 2, 5], [3, 4])))",
            "saw 1\nsaw 2\n[1, 2]\n[1, 3, 2, 4, 5]\n[(1, 3), (2, 4)]\n",
        ),
        (
            "println(stream.collect(range(20000)).count); println(stream.collect(range(20000), {max: 12000}).count)",
            "10000\n12000\n",
        ),
        (
            "gen fn slow(name, ms) {\n for i in 1 to 3 {\n  sleep(ms)\n  emit name + to_string(i)\n }\n}\nprintln(to_list(stream.merge(slow(\"a\", 10), slow(\"b\", 7)))); println(to_list(stream.merge([slow(\"a\", 1), [0]]))); println(to_list(stream.race(slow(\"a\", 10), slow(\"b\", 7), []))); println(to_list(stream.debounce(slow(\"a\", 10), 5ms))); println(to_list(stream.debounce(slow(\"a\", 10), 15)))",
            "[b1, a1, b2, a2, b3, a3]\n[0, a1, a2, a3]\n[b1, b2, b3]\n[a1, a2, a3]\n[a3]\n",
        ),
        ("println(to_list(stream.throttle([1, 2, 3], 10))); println(monotonic_ms())", "[1, 2, 3]\n200\n"),
        (
            "fn numbers() {\n for i in 1 to 3 {\n  println(\"made ${i}\")\n  yield i\n }\n}\nlet both = stream.broadcast(numbers(), 2)\nprintln(both[0].next().value); println(both[0].next().value); println(to_list(both[1])); println(to_list(both[0]))",
            "made 1\n1\nmade 2\n2\nmade 3\n[1, 2, 3]\n[3]\n",
        ),
        (
            "gen fn slow() {\n for i in 1 to 3 {\n  sleep(2)\n  emit i\n }\n}\nprintln(parallel each stream.broadcast(slow(), 3) { s -> to_list(s) })",
            "[[1, 2, 3], [1, 2, 3], [1, 2, 3]]\n",
        ),
        (
            "let ch = channel(\"c\")\nspawn {\n for i in 1 to 3 { send(ch, i) }\n close_channel(ch)\n}\nprintln(to_list(stream.take(ch, 2))); println(to_list(ch))",
            "[1, 2]\n[3]\n",
        ),
        (
            "fn bad() {\n yield 1\n throw \"source\"\n}\nprintln(try { to_list(stream.merge(bad(), [2, 3])) } catch (e) { e }); println(try { to_list(stream.race(bad())) } catch (e) { e }); println(try { to_list(stream.debounce(bad(), 1)) } catch (e) { e })",
            "source\nsource\nsource\n",
        ),
        (
            "let f = stream.map\nprintln(to_list(f([1], { x -> x + 1 }))); println(type_of(stream)); println(f)",
            "[2]\ndict\n<builtin stream.map>\n",
        ),
        (
            "println(pi); println(e); println(pi()); println(try { throw 1 } catch (e) { e })",
            "3.141592653589793\n2.718281828459045\n3.141592653589793\n1\n",
        ),
        (
            "fn g() {\n yield 1\n yield 2\n}\ngen fn s() { emit 3 }\nprintln(to_list(g())); println(to_list(s())); println(to_list(iter([4]))); println(to_list(1 to 2)); println(to_list(set(5))); println(to_list(\"ab\")); println(to_list(nil)); println([[1, 2]].map(to_list))",
            "[1, 2]\n[3]\n[4]\n[1, 2]\n[5]\n[a, b]\n[]\n[[1, 2]]\n",
        ),
    ]);
    fails(&[
        ("stream.map(5, { x -> x })", "Type error: stream.map: cannot iterate over int"),
        ("stream.filter([1], 5)", "Type error: stream.filter: expected callable"),
        ("stream.take([1], -1)", "Type error: stream.take: expected a number of at least 0"),
        ("stream.throttle([1], 0)", "stream.throttle: expected a number above 0"),
        ("to_list(stream.map([1], { x -> x.y }))", "cannot access property `y` on int (line 1)"),
    ]);
}

#[test]
fn generators_and_iterators_end_where_they_should() {
    prints(&[
        (
            "fn g() {\n yield\n yield 2\n}\nlet it = g()\nprintln(it.next()); println(it.next()); println(it.next()); println(it.next()); println(it)",
            "{done: false, value: nil}\n{done: false, value: 2}\n{done: true, value: nil}\n{done: true, value: nil}\n<generator (done)>\n",
        ),
        (
            "fn g() {\n yield 1\n throw \"late\"\n}\nlet it = g()\nprintln(it.next().value); println(try { it.next() } catch (e) { e }); println(it.next())",
            "1\nlate\n{done: true, value: nil}\n",
        ),
        (
            "fn g() {\n for i in 1 to 5 { yield i }\n}\nlet it = g()\nfor x in it {\n if x == 2 { break }\n}\nprintln(it.next().value)",
            "3\n",
        ),
        (
            "let it = iter([1])\nprintln(it); println(it.next()); println(it.next()); println(it)",
            "<iter>\n{done: false, value: 1}\n{done: true, value: nil}\n<iter (exhausted)>\n",
        ),
        (
            "println(iter({b: 1, a: 2}).to_list()); println(\"ab\".iter().to_list()); println(iter(set(3)).first())",
            "[(a, 2), (b, 1)]\n[a, b]\n3\n",
        ),
        // A task that is cancelled in the middle of a step leaves its generator at its end.
        (
            "gen fn g() {\n sleep(100)\n emit 1\n}\nlet it = g()\nlet t = spawn { it.next() }\nsleep(1)\ncancel(t)\nprintln(it.next())",
            "{done: true, value: nil}\n",
        ),
    ]);
    fails(&[("iter(5)", "iter: cannot iterate over int")]);
}

#[test]
fn what_tasks_share_is_within_the_limits() {
    let limits = Limits { fuel: 3_000_000, memory: 4 << 20, output: 1 << 20, tasks: 1000 };
    let cases = [
        (
            "let m = shared_map(\"m\")\nvar i = 0\nwhile true {\n shared_map_set(m, to_string(i), \"v\" * 100)\n i = i + 1\n}",
            "Memory limit",
        ),
        ("var i = 0\nwhile true {\n shared_cell(\"c\" + to_string(i))\n i = i + 1\n}", "Memory limit"),
        ("var i = 0\nwhile true {\n mailbox_open(\"c\" + to_string(i))\n i = i + 1\n}", "Memory limit"),
        (
            "let box = mailbox_open(\"b\", 100000000)\nwhile true { mailbox_send(box, \"v\" * 100) }",
            "Memory limit",
        ),
        ("var i = 0\nwhile true {\n sync_mutex_acquire(\"c\" + to_string(i))\n i = i + 1\n}", "Memory limit"),
        ("var i = 0\nwhile true {\n circuit_breaker(\"c\" + to_string(i))\n i = i + 1\n}", "Memory limit"),
        ("var all = []\nwhile true { all = all.push(channel()) }", "Memory limit"),
        (
            "var i = 0\nwhile true {\n runtime_context_set(to_string(i), \"v\" * 1000)\n i = i + 1\n}",
            "Memory limit",
        ),
        (
            "let bs = stream.broadcast(stream.map(1 to 100000000, { x -> \"v\" * 1000 }), 2)\nfor x in bs[0] {}",
            "Memory limit",
        ),
        ("parallel_race(to_list(range(2000)), { x -> sleep(1) })", "Task limit"),
        (
            "supervisor_start({children: to_list(range(2000)).map({ i -> {fn: { -> sleep(1) }} })})",
            "Task limit",
        ),
        ("supervisor_start({max_restarts: 1000000000, children: [{fn: { -> 1 }}]})\nsleep(1h)", "Fuel limit"),
        ("var x = 1\nfor i in 1 to 499 { x = [x] }\nshared_set(shared_cell(\"c\"), x)\nprintln(\"ok\")", ""),
    ];
    for (program, expected) in cases {
        let ran = run_with(program, limits);
        match ran.result {
            Err(error) => {
                assert!(!expected.is_empty() && error.contains(expected), "{program}\n---\n{error}")
            }
            Ok(_) => assert!(expected.is_empty(), "no error: {program}"),
        }
    }
    // What nobody has any more does not count.
    let thrifty = [
        "for i in 1 to 200000 { channel() }",
        "for i in 1 to 30000 { await(spawn { i }) }",
        "for i in 1 to 20000 { for x in stream.map([i], { x -> x }) {} }",
        "let c = shared_cell(\"c\")\nfor i in 1 to 20000 { shared_set(c, \"v\" * 1000) }",
        "for i in 1 to 50000 { sync_release(sync_mutex_acquire(\"k\")) }",
    ];
    for program in thrifty {
        let ran = run_with(program, limits);
        assert_eq!(ran.result.err(), None, "{program}");
    }
}

fn machine(text: &str, limits: Limits) -> Vm {
    Vm::new(compiled(text), Vec::new(), limits, 1)
}

fn compiled(text: &str) -> Arc<Program> {
    let source = Source { name: "test.harn".into(), text: text.into() };
    match compile(source, &NoModules, &Settings::default()) {
        Ok(program) => Arc::new(program),
        Err(failed) => panic!("{:?}", failed.all),
    }
}

/// What it printed.
fn said(turn: &Turn) -> String {
    turn.output.iter().map(|part| part.text.as_str()).collect()
}

fn done(turn: &Turn) -> Value {
    match &turn.state {
        State::Done(value) => value.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_host_calls_functions_while_the_program_waits_and_after_its_end() {
    let text = "let n = atomic(0)\nlet f = { x ->\n println(\"called with ${x}\")\n sleep(x)\n atomic_add(n, x) + x\n}\n__emit(\"f\", f)\nprintln(\"main ends\")\nf";
    let mut vm = machine(text, Limits::default());
    let turn = vm.run(u64::MAX);
    let [call] = &turn.calls[..] else { panic!("{turn:?}") };
    let (main, f) = (call.id, call.args[1].clone());

    let (first, second) = (vm.call(f.clone(), vec![Value::Int(10)]), vm.call(f, vec![Value::Int(5)]));
    assert_ne!(first, second);
    let turn = vm.run(u64::MAX);
    assert_eq!(said(&turn), "called with 10\ncalled with 5\n");
    let keys: Vec<&str> = turn.calls.iter().map(|call| call.key.as_str()).collect();
    assert_eq!(keys, ["__sleep:main/call:1:1", "__sleep:main/call:2:1"]);
    assert!(turn.ended.is_empty() && matches!(turn.state, State::Waiting));

    vm.complete(turn.calls[1].id, Ok(Value::Nil));
    let ended = vm.run(u64::MAX).ended;
    assert!(matches!(&ended[..], [(id, Ok(Value::Int(5)))] if *id == second), "{ended:?}");

    // The end of the program does not end what the host has called.
    vm.complete(main, Ok(Value::Nil));
    let ends = vm.run(u64::MAX);
    assert_eq!((said(&ends).as_str(), ends.dropped.len()), ("main ends\n", 0));
    let f = done(&ends);
    vm.complete(turn.calls[0].id, Ok(Value::Nil));
    let turn = vm.run(u64::MAX);
    assert!(matches!(&turn.ended[..], [(id, Ok(Value::Int(15)))] if *id == first), "{turn:?}");
    done(&turn);

    let third = vm.call(f, vec![Value::Int(1)]);
    let turn = vm.run(u64::MAX);
    done(&turn);
    vm.complete(turn.calls[0].id, Err(Fault::thrown("no time")));
    let turn = vm.run(u64::MAX);
    let [(id, Err(failure))] = &turn.ended[..] else { panic!("{turn:?}") };
    assert_eq!((*id, failure.fault.to_string()), (third, "Thrown: no time".into()));
    done(&turn);
}

#[test]
fn a_call_of_the_host_has_tasks_of_its_own_that_end_with_it() {
    let text = "[{ ->\n spawn { sleep(100) }\n parallel 2 { i -> runtime_context().task_id }\n}, len, { -> 1 / 0 }, 5]";
    let mut vm = machine(text, Limits::default());
    let all = done(&vm.run(u64::MAX));
    let all = all.as_list().unwrap();
    let calls: Vec<u32> =
        all.iter().map(|callee| vm.call(callee.clone(), vec![Value::list(vec![Value::Nil])])).collect();
    let turn = vm.run(u64::MAX);
    let shown: Vec<(u32, String)> = (turn.ended.iter())
        .map(|(id, result)| match result {
            Ok(value) => (*id, value.display()),
            Err(failure) => (*id, failure.fault.to_string()),
        })
        .collect();
    let expected = [
        (calls[1], "1"),
        (calls[2], "Division by zero (line 4)"),
        (calls[3], "Type error: cannot call int"),
        (calls[0], "[task_root:call:1:parallel:1:0, task_root:call:1:parallel:1:1]"),
    ];
    assert_eq!(shown, expected.map(|(id, text)| (id, text.to_owned())));
    assert_eq!((turn.calls.len(), turn.dropped), (1, vec![turn.calls[0].id]), "the spawned task is dropped");
}

#[test]
fn limits_hold_for_calls_of_the_host() {
    let limits = Limits { fuel: 10_000, memory: 4 << 20, output: 1 << 20, tasks: 3 };
    let text = "[{ -> while true {} }, { -> \"x\" * 10000000 }, { -> 7 }, { -> sleep(1) }]";
    let mut vm = machine(text, limits);
    let all = done(&vm.run(u64::MAX));
    let f = |at: usize| all.as_list().unwrap()[at].clone();
    let ended = |turn: &Turn| -> Vec<String> {
        let shown = |result: &Result<Value, harn_lang::vm::Failure>| match result {
            Ok(value) => value.display(),
            Err(failure) => failure.fault.to_string(),
        };
        turn.ended.iter().map(|(_, result)| shown(result)).collect()
    };
    // Memory is free again when the call is over; the program stays done.
    vm.call(f(1), Vec::new());
    vm.call(f(2), Vec::new());
    let turn = vm.run(u64::MAX);
    assert_eq!(ended(&turn), ["Memory limit exceeded: the program may use 4194304 bytes", "7"]);
    done(&turn);
    for _ in 0..4 {
        vm.call(f(3), Vec::new());
    }
    let turn = vm.run(u64::MAX);
    assert_eq!(ended(&turn), ["Task limit exceeded: the program may have 3 tasks at a time"]);
    // Fuel is not.
    let mut vm = machine(text, limits);
    done(&vm.run(u64::MAX));
    vm.call(f(0), Vec::new());
    assert!(matches!(vm.run(100).state, State::OutOfFuel));
    let turn = vm.run(u64::MAX);
    assert_eq!(ended(&turn), ["Fuel limit exceeded: the program may execute 10000 steps"]);
    done(&turn);
    vm.call(f(2), Vec::new());
    assert_eq!(ended(&vm.run(u64::MAX)), ["Fuel limit exceeded: the program may execute 10000 steps"]);
}

#[test]
fn cancelling_the_program_reaches_every_fibre_once() {
    let text = "let t = spawn { sleep(100) }\nlet r = try { await(t) } catch (e) { e }\nsleep(5)\nprintln(r)";
    let mut vm = machine(text, Limits::default());
    assert_eq!(vm.run(u64::MAX).calls.len(), 1);
    vm.cancel();
    let turn = vm.run(u64::MAX);
    // The error was caught, so the program goes on to its next call, and waits there.
    assert_eq!((turn.dropped.len(), turn.calls.len()), (1, 1));
    vm.complete(turn.calls[0].id, Ok(Value::Nil));
    assert_eq!(said(&vm.run(u64::MAX)), "kind:cancelled:VM cancelled by host\n");
}

#[test]
fn the_host_says_what_run_it_is() {
    let mut vm = machine(
        "println(runtime_context().run_id)\nprintln(shared_scope_id(\"workflow_run\"))\nprintln(shared_scope_id(\"tenant\"))",
        Limits::default(),
    );
    let text = |text: &str| Arc::new(Text::new(text));
    vm.set_about(Dict::from_iter([(text("run_id"), "run_7".into()), (text("tenant_id"), "acme".into())]));
    assert_eq!(said(&vm.run(u64::MAX)), "run_7\nworkflow_run:run_7\ntenant:acme\n");
}

#[test]
fn a_machine_can_be_sent_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Vm>();
    is_send::<Turn>();
}

/// Every example of the chapter, and what it says that it prints.
#[test]
fn the_examples_of_the_documentation_print_what_they_say() {
    let text = include_str!("../../../docs/language/concurrency.md");
    let mut parts = text.split("```harn\n").skip(1);
    let mut count = 0;
    for part in &mut parts {
        let (program, rest) = part.split_once("```").expect("an end of the example");
        let ran = run(program);
        assert_eq!(ran.result.err(), None, "{program}");
        if let Some(expected) = rest.trim_start().strip_prefix("```text\n") {
            assert_eq!(ran.output, expected.split_once("```").unwrap().0, "{program}");
        }
        count += 1;
    }
    assert!(count > 15, "{count} examples");
}
