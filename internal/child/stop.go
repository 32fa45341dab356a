package child

import (
	"fmt"
	"time"
)

// groupPoll is how often a group is looked at that has lost its head.
const groupPoll = 10 * time.Millisecond

// End begins what [Process.Stop] does, without waiting for it and without
// throwing away output. It happens by itself when the process exits.
func (p *Process) End() {
	if p.descends.CompareAndSwap(false, true) {
		go p.descend()
	}
}

// descend takes the process down, step by step.
func (p *Process) descend() {
	defer close(p.stopped)
	defer p.group.release()
	p.stdin.Close()
	if p.gone(p.stopTimeout, drainTimeout, p.hurry) {
		return
	}
	p.group.terminate()
	if p.gone(p.stopTimeout, p.stopTimeout, p.hurry) {
		return
	}
	p.group.kill()
	if p.stopErr = awaitEnd(p.exited, p.group.runs); p.stopErr != nil {
		p.stopErr = fmt.Errorf("process %d: %w", p.Pid(), p.stopErr)
	}
}

// awaitEnd waits for the end of a process that was killed, and then of what
// runs of its group.
func awaitEnd(exited <-chan struct{}, runs func() bool) error {
	timer := time.NewTimer(killTimeout)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C:
		return fmt.Errorf("it did not end within %v of being killed", killTimeout)
	}
	poll := time.NewTicker(groupPoll)
	defer poll.Stop()
	for runs() {
		select {
		case <-poll.C:
		case <-timer.C:
			return fmt.Errorf("a descendant did not end within %v of being killed", killTimeout)
		}
	}
	return nil
}

// gone waits for the process to exit, and then for the rest of its group. It
// reports false when either takes too long, or when hurry is closed.
func (p *Process) gone(head, rest time.Duration, hurry <-chan struct{}) bool {
	timer := time.NewTimer(head)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
	case <-hurry:
	}
	select {
	case <-p.exited:
	default:
		return false
	}

	timer.Reset(rest)
	for p.group.alive() {
		select {
		case <-time.After(groupPoll):
		case <-timer.C:
			return false
		case <-hurry:
			return false
		}
	}
	return true
}
