package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/internal/billing"
	"github.com/mcpchain/mcpchain/agent/internal/media"
	"github.com/mcpchain/mcpchain/agent/model"
)

// Fallback returns a model that asks the next of models if one is overloaded or unreachable,
// refuses its key, or does not exist, provided that nothing of a reply was shown yet. Any other error, such
// as that of a timeout, is the result. It panics without models, and if one is nil.
//
// Each call of the agent, such as [Agent.Run] or [Agent.Resume], begins with the first model, and stays with the
// model that has answered until that fails. Each message names its model ([run.Message.Model]), and a [Warning]
// reports each change.
//
// Tools and formats are written for the first model, and what one model does not support is sent to
// none. No model is asked for more than its own bound of a reply, if it has one. Reasoning goes back only to
// models of the same provider. With Limits.Cost each model needs a price, and a call reserves what the
// most expensive model may cost.
func Fallback(models ...Model) Model {
	if len(models) == 0 {
		panic("agent: Fallback without models")
	}
	for i, m := range models {
		if err := nilError(fmt.Sprintf("model %d", i+1), m); err != nil {
			panic("agent: Fallback: " + err.Error())
		}
	}
	return &fallback{slices.Clone(models)}
}

// fallback is the model of [Fallback].
type fallback struct{ models []Model }

// Info returns the information of the first model, with the names of all, the smallest window that is
// known, the largest MaxTokens, only the formats and media that all accept, and the first ToolsErr. MaxTokens
// is 0 if that of one model is: nothing is known to bound its reply.
func (f *fallback) Info() model.Info {
	var all []model.Info
	for _, m := range f.models {
		all = append(all, m.Info())
	}
	info := all[0]
	info.Formats = func(tools bool) bool {
		return !slices.ContainsFunc(all, func(i model.Info) bool { return i.Formats == nil || !i.Formats(tools) })
	}
	info.Media = func(mimeType string) bool {
		return !slices.ContainsFunc(all, func(i model.Info) bool { return !media.Accepts(i.Media, mimeType) })
	}
	info.OtherNames = slices.Clone(info.OtherNames)
	for _, other := range all[1:] {
		info.OtherNames = append(info.OtherNames, billing.Names(&other)...)
		if other.Window > 0 && (info.Window == 0 || other.Window < info.Window) {
			info.Window = other.Window
		}
		if info.MaxTokens == 0 || other.MaxTokens == 0 {
			info.MaxTokens = 0
		} else {
			info.MaxTokens = max(info.MaxTokens, other.MaxTokens)
		}
		info.ToolsErr = cmp.Or(info.ToolsErr, other.ToolsErr)
	}
	return info
}

// fallbackMemory holds what a conversation has learnt about the models. It lives in Request.Scratch.
type fallbackMemory struct {
	answered  int   // index of the model that has answered
	scratches []any // Request.Scratch of each model
}

// Generate implements [Model].
func (f *fallback) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		known := f.memory(r.Scratch)
		var warnings []string
		for n := range f.models {
			i, hasNext := (known.answered+n)%len(f.models), n+1 < len(f.models) // the first follows the last
			info, asked := f.models[i].Info(), *r
			asked.Scratch = &known.scratches[i]
			if info.MaxTokens > 0 {
				asked.MaxTokens = min(asked.MaxTokens, info.MaxTokens)
			}
			failed := askModel(ctx, f.models[i], &asked, hasNext, func(d model.Delta, err error) bool {
				if reply := d.Response; reply != nil {
					known.answered = i
					reply.Message.Model = cmp.Or(reply.Message.Model, info.Name)
					reply.Endpoint = cmp.Or(reply.Endpoint, info.Endpoint)
					if reply.Warning != "" {
						warnings = append(warnings, reply.Warning)
					}
					reply.Warning = strings.Join(warnings, "; ")
				}
				if err != nil && len(warnings) > 0 {
					err = fmt.Errorf("%w; before that, %s", err, strings.Join(warnings, "; "))
				}
				return yield(d, err)
			})
			if failed == nil {
				return
			}
			next := f.displayName((i + 1) % len(f.models))
			warnings = append(warnings, fmt.Sprintf("model %s failed, so %s was asked: %v", f.displayName(i), next, failed))
		}
	}
}

// askModel asks one of the models, and yields its deltas. If it returns an error, nothing but empty
// deltas was yielded, and the next model is to be asked.
func askModel(ctx context.Context, m Model, r *model.Request, hasNext bool, yield func(model.Delta, error) bool) error {
	shown := false
	for d, err := range m.Generate(ctx, r) {
		canSwitch := hasNext && !shown && ctx.Err() == nil
		if canSwitch && err != nil && mayAskNext(err) {
			return err
		}
		shown = shown || d != model.Delta{}
		if !yield(d, err) {
			return nil
		}
	}
	return nil
}

// mayAskNext reports whether another model may be asked after this error.
func mayAskNext(err error) bool {
	kinds := []model.ErrorKind{model.ErrorRateLimit, model.ErrorUnavailable, model.ErrorAuth, model.ErrorNotFound}
	failed, ok := errors.AsType[*model.Error](err)
	return ok && slices.Contains(kinds, failed.Kind)
}

// memory returns the memory of a conversation, which it stores in scratch. It is empty at the
// beginning, and always if scratch is nil.
func (f *fallback) memory(scratch *any) *fallbackMemory {
	if scratch == nil {
		scratch = new(any)
	}
	m, ok := (*scratch).(*fallbackMemory)
	if !ok {
		m = &fallbackMemory{scratches: make([]any, len(f.models))}
		*scratch = m
	}
	return m
}

// displayName returns the name of a model for people: its number if it has none.
func (f *fallback) displayName(i int) string {
	return cmp.Or(f.models[i].Info().Name, fmt.Sprint(i+1))
}

// AskedNames returns the names of the model that was asked for the last reply of a conversation, from
// its Request.Scratch, for package billing.
func (f *fallback) AskedNames(scratch any) []string {
	known := f.memory(&scratch)
	return billing.AskedNames(f.models[known.answered], known.scratches[known.answered])
}
