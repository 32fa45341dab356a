package child

import (
	"fmt"
	"time"
)

// A group is a process and its descendants, as far as the system knows them. alive reports whether it has members; runs
// does not count those that only wait to be reaped. terminate asks them to end, or kills them where the system cannot
// ask; kill does not wait for their end. release frees what is kept for the group, which is not used afterwards.

const groupPoll = 10 * time.Millisecond

// End begins the steps of [Process.Stop], but does not wait and does not
// discard output. The exit of the process does the same.
func (p *Process) End() {
	if p.terminating.CompareAndSwap(false, true) {
		go p.terminate()
	}
}

func (p *Process) terminate() {
	defer close(p.stopped)
	defer p.group.release()
	_ = closePipe(p.stdin)
	if p.awaitGroup(p.stopTimeout, drainTimeout, p.noWait) {
		return
	}
	p.group.terminate()
	if p.awaitGroup(p.stopTimeout, p.stopTimeout, p.noWait) {
		return
	}
	p.group.kill()
	if p.stopErr = awaitEnd(p.exited, p.group.runs); p.stopErr != nil {
		p.stopErr = fmt.Errorf("process %d: %w", p.Pid(), p.stopErr)
	}
}

// awaitEnd waits for the end of a killed process, then of the rest of its group, together for at most killTimeout.
func awaitEnd(exited <-chan struct{}, runs func() bool) error {
	timer := time.NewTimer(killTimeout)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C:
		return fmt.Errorf("did not end within %v of being killed", killTimeout)
	}
	poll := time.NewTicker(groupPoll)
	defer poll.Stop()
	for runs() {
		select {
		case <-poll.C:
		case <-timer.C:
			return fmt.Errorf("descendant did not end within %v of being killed", killTimeout)
		}
	}
	return nil
}

// awaitGroup waits for the process to exit, and then for the rest of its group. It
// returns false if either takes too long, or if noWait is closed.
func (p *Process) awaitGroup(head, rest time.Duration, noWait <-chan struct{}) bool {
	timer := time.NewTimer(head)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
	case <-noWait:
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
		case <-noWait:
			return false
		}
	}
	return true
}
