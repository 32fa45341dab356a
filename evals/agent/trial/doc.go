// Package trial runs a task once, with servers and a directory of its own, and with people who
// answer as the task says.
//
// A task with kills or suspensions has several agents, one after the other, as if each had a
// process of its own: they share the store of the run and the servers.
package trial
