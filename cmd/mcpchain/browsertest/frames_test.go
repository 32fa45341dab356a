package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// inView is the value of an expression in the document of a view, in which mark, an expression, is true. It
// waits for such a document. Chromium may run a frame in a process of its own, or in the page's.
func inView[T any](w *person, mark, expression string) T {
	w.t.Helper()
	guarded := fmt.Sprintf("(async () => { if (!(%s)) return undefined; return { is: await (%s) }; })()", mark, expression)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if out, ok := inFrames[T](w, guarded); ok {
			return out
		}
		if time.Now().After(end) {
			w.t.Fatalf("no view in which %s; the page says:\n%s", mark, eval[string](w, "document.body.innerText"))
		}
	}
}

// inFrames is the value of an expression in the first frame that has one.
func inFrames[T any](w *person, expression string) (out T, ok bool) {
	w.mu.Lock()
	contexts := append([]runtime.ExecutionContextID(nil), w.contexts...)
	w.mu.Unlock()
	for _, id := range contexts {
		if out, ok = evaluate[T](w.ctx, expression, id); ok {
			return out, true
		}
	}
	infos, err := chromedp.Targets(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, info := range infos {
		if info.Type != "iframe" || info.BrowserContextID != chromedp.FromContext(w.ctx).BrowserContextID {
			continue
		}
		w.mu.Lock()
		frame := w.frames[info.TargetID]
		w.mu.Unlock()
		if frame == nil {
			frame, _ = chromedp.NewContext(w.ctx, chromedp.WithTargetID(info.TargetID), chromedp.WithListener(w.listen)) // ends with the window
			if chromedp.Do(frame) != nil {                                                                               // attaches for as long as the window lasts
				continue
			}
			w.mu.Lock()
			w.frames[info.TargetID] = frame
			w.mu.Unlock()
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

// quote is a string of JavaScript.
func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string is JSON
	}
	return string(data)
}
