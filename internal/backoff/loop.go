package backoff

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Failure is a failed try. The function onFailure of [Loop] may change all fields.
type Failure struct {
	Err   error
	Count int           // failures in a row before this one; -1 makes the next one the first
	Wait  time.Duration // wait before the next try; 0: by the policy for Count, negative: none
}

// Loop calls try until it succeeds. After each failure it calls onFailure, whose error ends the loop and is its
// result; if that is nil, Loop waits and tries once more. If a wait ends early, Loop returns an [*Interrupted].
func Loop(ctx context.Context, p Policy, try func() error, onFailure func(*Failure) error) error {
	sleep := p.Sleep
	if sleep == nil {
		sleep = Sleep
	}
	for count := 0; ; count++ {
		err := try()
		if err == nil {
			return nil
		}
		f := &Failure{Err: err, Count: count}
		if err := onFailure(f); err != nil {
			return err
		}
		count = f.Count
		f.Wait = cmp.Or(f.Wait, p.Delay(count))
		if f.Wait < 0 {
			continue
		}
		if err := sleep(ctx, f.Wait); err != nil {
			return &Interrupted{Err: err, Last: f.Err}
		}
	}
}

// Interrupted is the error of a [Loop] whose wait was interrupted.
type Interrupted struct {
	Err  error // error of the wait, for example of its context
	Last error // error of the last try, as onFailure has left it
}

func (e *Interrupted) Error() string {
	return fmt.Sprintf("%v, before another try after: %v", e.Err, e.Last)
}

// Unwrap returns both errors.
func (e *Interrupted) Unwrap() []error { return []error{e.Err, e.Last} }
