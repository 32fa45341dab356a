// Package trial runs a task once, with servers and a directory of its own, and with people who
// answer as the task says.
//
// A task with kills or suspensions runs in child processes of this program, which must call
// [Main] first. Its servers and people live in this process.
package trial
