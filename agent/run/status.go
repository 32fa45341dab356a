package run

// Status is the status of a run.
type Status string

// A run is running, or waiting for a person, a task or a time, until it is finished (it has its
// output), failed or cancelled. A new input starts a run that has ended again.
const (
	StatusRunning   Status = "running"
	StatusWaiting   Status = "waiting"
	StatusFinished  Status = "done"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// Ended reports whether the run has ended.
func (s Status) Ended() bool { return s == StatusFinished || s == StatusFailed || s == StatusCancelled }
