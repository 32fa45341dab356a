package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/parallel"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// job is one tool call of a turn.
type job struct {
	asked  llms.ToolCall     // as the model wrote it
	about  Call              // as it is run
	tool   *adapter.Tool     // that the model was offered, nil when none has that name
	call   *adapter.Prepared // what runs
	result *adapter.Result   // nil until it is known what became of the call
}

// dispatch runs the calls of a turn and returns the messages that answer them.
// First it decides, call by call, which ones run; then these run side by side.
func (r *run) dispatch(calls []llms.ToolCall) ([]llms.MessageContent, error) {
	ctx := r.asCaller()
	jobs := make([]*job, len(calls))
	var queue []*job
	for i, call := range calls {
		jobs[i] = r.newJob(call)
		if err := r.admit(ctx, jobs[i]); err != nil {
			return nil, err
		}
		if jobs[i].result == nil {
			queue = append(queue, jobs[i])
		} else if !r.emit(&ToolEnd{Call: jobs[i].about, Result: jobs[i].result}) {
			return nil, r.ended()
		}
	}
	if err := r.runJobs(ctx, queue); err != nil {
		return nil, err
	}
	r.failures++
	for _, j := range jobs {
		if !j.result.IsError {
			r.failures = 0
		}
	}
	return r.answers(jobs), nil
}

func (r *run) newJob(call llms.ToolCall) *job {
	f := call.FunctionCall
	j := &job{asked: call}
	j.about = Call{Turn: r.turn, ID: call.ID, Name: f.Name, Arguments: f.Arguments}
	if tool, ok := r.catalog.Lookup(f.Name); ok {
		j.tool = tool
		j.about.Name, j.about.Server, j.about.Tool = j.tool.Name(), j.tool.Server(), j.tool.Definition().Name
	}
	return j
}

// runJobs runs the jobs, at most Parallelism at a time, started in their order.
func (r *run) runJobs(ctx context.Context, jobs []*job) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parallel.Do(len(jobs), r.agent.opts.Parallelism, func(i int) {
		if ctx.Err() != nil {
			return
		}
		if err := guarded("tool call", func() error { return r.runJob(ctx, jobs[i]) }); err != nil {
			cancel(err)
		}
	})
	if r.ctx.Err() != nil {
		return r.ended()
	}
	return context.Cause(ctx)
}

func (r *run) runJob(ctx context.Context, j *job) error {
	if !r.emit(&ToolStart{Call: j.about}) {
		return r.ended()
	}
	start := time.Now()
	j.result = r.callTool(ctx, j)
	if undecided(j.result.Err) {
		return j.result.Err
	}
	r.noteLost(j)
	if !r.emit(&ToolEnd{Call: j.about, Result: j.result, Duration: time.Since(start)}) {
		return r.ended()
	}
	return nil
}

// callTool runs the call of the job.
func (r *run) callTool(ctx context.Context, j *job) *adapter.Result {
	ctx = context.WithValue(ctx, callKey{}, &j.about)
	progress := func(p mcp.Progress) { r.emit(&ToolProgress{Call: j.about, Progress: p}) }
	opts := append(adapter.CallLimits(r.agent.opts.IdleTimeout, r.agent.opts.CallTimeout), mcpclient.WithProgress(progress))
	return j.call.Run(ctx, opts...)
}

// noteLost emits that the connection to a server has ended, once.
func (r *run) noteLost(j *job) {
	if !errors.Is(j.result.Err, mcpclient.ErrClosed) {
		return
	}
	r.mu.Lock()
	known := r.lost[j.about.Server]
	r.lost[j.about.Server] = true
	r.mu.Unlock()
	if !known {
		r.emit(&ServerLost{Server: j.about.Server, Err: j.result.Err})
	}
}

// answers are the messages that follow the model's: a tool message for every
// call, and the media that the model takes.
func (r *run) answers(jobs []*job) []llms.MessageContent {
	var out []llms.MessageContent
	media := llms.MessageContent{Role: llms.ChatMessageTypeHuman}
	for _, j := range jobs {
		out = append(out, j.result.Message())
		var accepted []llms.ContentPart
		for _, part := range j.result.Media {
			if binary, ok := part.(llms.BinaryContent); ok && r.agent.opts.Media(binary.MIMEType) {
				accepted = append(accepted, part)
			}
		}
		if len(accepted) > 0 {
			title := fmt.Sprintf("From the result of %s (call %s):", j.about.Name, j.about.ID)
			media.Parts = append(append(media.Parts, llms.TextContent{Text: title}), accepted...)
		}
	}
	if len(media.Parts) > 0 && r.agent.rules.humanAfterTools {
		out = append(out, media)
	}
	return out
}
