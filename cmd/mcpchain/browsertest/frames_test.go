package browsertest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/mcpchain/mcpchain/internal/check"
)

// inView waits for a document of a view in which mark, an expression, is true, and evaluates other
// expressions there. Chromium may run a frame in a process of its own, or in the page's.
func (w *person) inView(mark string, expressions ...string) {
	w.t.Helper()
	guarded := fmt.Sprintf("(async () => { if (!(%s)) return false; %s; return true; })()", mark, strings.Join(expressions, "; "))
	for end := time.Now().Add(patience); !w.inFrames(guarded); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("no view in which %s; the page says:\n%s", mark, eval[string](w, "document.body.innerText"))
		}
	}
}

// inFrames reports whether an expression is true in one of the frames. It ends with the first one.
func (w *person) inFrames(expression string) bool {
	w.mu.Lock()
	contexts := slices.Clone(w.contexts)
	w.mu.Unlock()
	for _, id := range contexts {
		if isTrue(w.ctx, expression, id) {
			return true
		}
	}
	infos, err := chromedp.Targets(w.ctx)
	check.Must(w.t, err)
	for _, info := range infos {
		if info.Type != "iframe" || info.BrowserContextID != chromedp.FromContext(w.ctx).BrowserContextID {
			continue
		}
		frame := w.frames[info.TargetID]
		if frame == nil {
			frame, _ = chromedp.NewContext(w.ctx, chromedp.WithTargetID(info.TargetID), chromedp.WithListener(w.listen)) // ends with the window
			if chromedp.Do(frame) != nil {                                                                               // attaches for as long as the window lasts
				continue
			}
			w.frames[info.TargetID] = frame
		}
		if isTrue(frame, expression, 0) {
			return true
		}
	}
	return false
}

// isTrue reports whether an expression is true in a context, 0 for the target's own.
func isTrue(ctx context.Context, expression string, id runtime.ExecutionContextID) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	yes := true
	res, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: id, AwaitPromise: &yes, ReturnByValue: &yes})
	return err == nil && res.ExceptionDetails == nil && res.Result != nil && string(res.Result.Value) == "true" // otherwise the frame may have gone
}
