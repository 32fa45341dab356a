// Package suite describes what an agent is asked to do, and what counts as done.
//
// A suite is YAML, see [Parse], or a Go value. It has servers and tasks; each trial of a task
// has servers and a directory of its own.
package suite
