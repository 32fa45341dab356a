// Chaos kills the process of an agent again and again, and counts what its tools did:
//
//	go run ./evals/chaos -runs 50 -kills 500 -store file
//	go run ./evals/chaos -runs 50 -kills 500 -store sqlite
//	go run ./evals/chaos -runs 50 -kills 500 -store postgres
//
// Runs of several turns, with four parallel tool calls in each, go on in one worker
// process, which is killed (SIGKILL) at random moments and started again. The tools are of
// three servers, which live in the first process and note each effect: one that recognizes
// a call by its key, one whose calls become tasks, and a plain one. At the end each call of each
// run is compared with its effects:
//
//   - lost: the model was told of a result, and there was no effect
//   - doubled: there was more than one effect
//   - silent: there was an effect, and the model was told that there was none
//
// With -fault the worker lives, and its store fails once: a disk is full for a second, or a server of Postgres is down for
// five. Then no call may be in doubt.
//
// A call is in doubt if the model was told that it may or may not have run. The server
// with keys has no such calls.
package main
