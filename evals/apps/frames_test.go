package apps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/mcpchain/mcpchain/internal/check"
)

// inView is the value of an expression in the document of a view, in which mark, an expression, is true. It
// waits for such a document. Chromium may run a frame in a process of its own, or in the page's.
func inView[T any](s *shown, mark, expression string) T {
	s.t.Helper()
	guarded := fmt.Sprintf("(async () => { if (!(%s)) return undefined; return { is: await (%s) }; })()", mark, expression)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if out, ok := inFrames[T](s, guarded); ok {
			return out
		}
		if time.Now().After(end) {
			s.t.Fatalf("no view in which %s; console %q", mark, s.errors())
		}
	}
}

// inFrames is the value of an expression in the first frame that has one.
func inFrames[T any](s *shown, expression string) (out T, ok bool) {
	s.mu.Lock()
	contexts := slices.Clone(s.contexts)
	s.mu.Unlock()
	for _, id := range contexts {
		if out, ok = evaluate[T](s.ctx, expression, id); ok {
			return out, true
		}
	}
	infos, err := chromedp.Targets(s.ctx)
	check.Must(s.t, err)
	for _, info := range infos {
		if info.Type != "iframe" || info.BrowserContextID != chromedp.FromContext(s.ctx).BrowserContextID {
			continue
		}
		s.mu.Lock()
		frame := s.frames[info.TargetID]
		s.mu.Unlock()
		if frame == nil {
			frame, _ = chromedp.NewContext(s.ctx, chromedp.WithTargetID(info.TargetID), chromedp.WithListener(s.listen)) // ends with the window
			if chromedp.Do(frame) != nil {                                                                               // attaches for as long as the window lasts
				continue
			}
			if _, err := chromedp.Call(frame, log.Enable, cdp.Empty{}); err != nil {
				continue
			}
			s.mu.Lock()
			s.frames[info.TargetID] = frame
			s.mu.Unlock()
		}
		if out, ok = evaluate[T](frame, expression, 0); ok {
			return out, true
		}
	}
	return out, false
}

// evaluate is the value of an expression in a context, 0 for the target's own.
func evaluate[T any](ctx context.Context, expression string, id runtime.ExecutionContextID) (out T, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	yes := true
	res, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: id, AwaitPromise: &yes, ReturnByValue: &yes})
	if err != nil || res.ExceptionDetails != nil || res.Result == nil {
		return out, false // the frame has gone
	}
	var value struct{ Is *T }
	if json.Unmarshal(res.Result.Value, &value) != nil || value.Is == nil {
		return out, false
	}
	return *value.Is, true
}
