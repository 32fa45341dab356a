// Package suite describes the tasks of an agent, and the conditions under which a task counts as done.
//
// A suite is YAML, see [Parse], or a Go value. It has servers and tasks; each trial of a task
// has servers and a directory of its own.
package suite
