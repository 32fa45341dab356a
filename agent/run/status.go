package run

// Status tells where a run stands.
type Status string

// A run is running, or waiting for a person, a task or a time, until it is done (it has
// its answer), failed or cancelled. A new input sets a run that has ended running again.
const (
	StatusRunning   Status = "running"
	StatusWaiting   Status = "waiting"
	StatusFinished  Status = "done"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// Ended reports whether the run is over.
func (s Status) Ended() bool { return s == StatusFinished || s == StatusFailed || s == StatusCancelled }
