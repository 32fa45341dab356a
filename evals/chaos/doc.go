// Chaos kills the process of an agent again and again, and counts the effects of its tools:
//
//	go run ./evals/chaos -runs 50 -kills 500 -store file
//	go run ./evals/chaos -runs 50 -kills 500 -store sqlite
//	go run ./evals/chaos -runs 50 -kills 500 -store postgres
//
// Runs of several turns with four parallel tool calls each are driven by one worker process,
// which is killed (SIGKILL) at random moments and started again. The tools belong to three
// servers in the first process, which count effects: one recognizes a call by its key, one runs
// calls as tasks, and one does neither. At the end each call of each run is compared with its
// effects:
//
//   - lost: the model was told of a result, and there was no effect
//   - doubled: there was more than one effect
//   - silent: there was an effect, and the model was told that there was none
//
// A call is in doubt if the model was told that it may or may not have run. Calls of the server
// with keys never are.
//
// With -fault the worker is not killed. Instead its store fails once: the disk is full for a
// second, or the Postgres server is down for five. Then no call may be in doubt.
package main
