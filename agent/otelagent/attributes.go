package otelagent

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
)

// The attributes of the conventions.
const (
	keyOperation     = attribute.Key("gen_ai.operation.name")
	keyProvider      = attribute.Key("gen_ai.provider.name")
	keyConversation  = attribute.Key("gen_ai.conversation.id")
	keyAgentID       = attribute.Key("gen_ai.agent.id")
	keyAgentName     = attribute.Key("gen_ai.agent.name")
	keyRequestModel  = attribute.Key("gen_ai.request.model")
	keyRequestStream = attribute.Key("gen_ai.request.stream")
	keyResponseModel = attribute.Key("gen_ai.response.model")
	keyResponseID    = attribute.Key("gen_ai.response.id")
	keyFinish        = attribute.Key("gen_ai.response.finish_reasons")
	keyFirstChunk    = attribute.Key("gen_ai.response.time_to_first_chunk")
	keyInput         = attribute.Key("gen_ai.usage.input_tokens")
	keyOutput        = attribute.Key("gen_ai.usage.output_tokens")
	keyCacheRead     = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyCacheWrite    = attribute.Key("gen_ai.usage.cache_write.input_tokens")
	keyReasoning     = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	keyModality      = attribute.Key("gen_ai.token.modality")
	keyTool          = attribute.Key("gen_ai.tool.name")
	keyToolType      = attribute.Key("gen_ai.tool.type")
	keyToolCall      = attribute.Key("gen_ai.tool.call.id")
	keyErrorType     = attribute.Key("error.type")
)

// text returns an attribute, none if the value is empty.
func text(key attribute.Key, value string) []attribute.KeyValue {
	if value == "" {
		return nil
	}
	return []attribute.KeyValue{key.String(value)}
}

// tokens returns the attributes of the counts that are known.
func tokens(counts ...attribute.KeyValue) []attribute.KeyValue {
	return slices.DeleteFunc(counts, func(c attribute.KeyValue) bool { return c.Value.AsInt64() <= 0 })
}

// finish returns the attribute of the reason why a reply ended, none if it is unknown.
func finish(reason string) []attribute.KeyValue {
	if reason == "" {
		return nil
	}
	return []attribute.KeyValue{keyFinish.StringSlice([]string{reason})}
}

// The attributes of the three kinds of spans: those that are known when a span starts, and those that
// are known when it ends.

func invocationStart(v *agent.Invocation) []attribute.KeyValue {
	return slices.Concat([]attribute.KeyValue{keyConversation.String(v.Run)},
		text(keyAgentID, v.Agent), text(keyAgentName, v.Agent), text(keyRequestModel, v.Model))
}

func invocationEnd(v *agent.Invocation, i *invocation) []attribute.KeyValue {
	return append(finish(i.finish), tokens(keyInput.Int64(i.input.Load()), keyOutput.Int64(i.output.Load()))...)
}

func inferenceStart(v *agent.Inference, i *invocation) []attribute.KeyValue {
	out := []attribute.KeyValue{keyProvider.String(provider(v))}
	if v.Request.Stream {
		out = append(out, keyRequestStream.Bool(true))
	}
	return slices.Concat(out, text(keyConversation, i.run), text(keyRequestModel, v.Info.Name))
}

// provider returns the name of the model's provider by the conventions.
func provider(v *agent.Inference) string { return cmp.Or(v.Info.Provider, "unknown") }

func inferenceEnd(v *agent.Inference) []attribute.KeyValue {
	r := v.Response
	if r == nil {
		return nil
	}
	out := slices.Concat(text(keyResponseModel, r.Message.Model), text(keyResponseID, r.ID), finish(r.Finish))
	if v.FirstChunk > 0 {
		out = append(out, keyFirstChunk.Float64(v.FirstChunk.Seconds()))
	}
	u := r.Usage
	return append(out, tokens(keyInput.Int64(u.Input), keyOutput.Int64(u.Output), keyReasoning.Int64(u.Reasoning),
		keyCacheRead.Int64(u.Cached), keyCacheWrite.Int64(u.CacheWrite))...)
}

func executionStart(v *agent.Execution, i *invocation) []attribute.KeyValue {
	out := []attribute.KeyValue{keyTool.String(v.Name), keyToolType.String("function"), keyToolCall.String(v.ID)}
	return slices.Concat(out, text(keyConversation, i.run), text(keyAgentName, i.agent))
}

// otherError is the error type of errors without a name in the conventions.
const otherError = "_OTHER"

var modelErrors = map[model.ErrorKind]string{
	model.ErrorRateLimit: "rate_limit", model.ErrorUnavailable: "provider_unavailable", model.ErrorTimeout: "timeout",
	model.ErrorAuth: "authentication", model.ErrorNotFound: "resource_not_found", model.ErrorTooLong: "token_limit",
	model.ErrorRefused: "content_filter", model.ErrorInvalid: "invalid_request",
}

// errorType returns the error type of an error, "" for nil. It comes from the kind of the error and
// never from its text, which may quote a model or a server.
func errorType(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	if failed, ok := errors.AsType[*model.Error](err); ok {
		return cmp.Or(modelErrors[failed.Kind], otherError)
	}
	return otherError
}
