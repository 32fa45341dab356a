package otelagent

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"

	"github.com/mcpchain/mcpchain/agent"
)

// The attributes of the conventions.
const (
	keyOperation     = attribute.Key("gen_ai.operation.name")
	keyConversation  = attribute.Key("gen_ai.conversation.id")
	keyAgent         = attribute.Key("gen_ai.agent.name")
	keyRequestModel  = attribute.Key("gen_ai.request.model")
	keyResponseModel = attribute.Key("gen_ai.response.model")
	keyFinish        = attribute.Key("gen_ai.response.finish_reasons")
	keyInput         = attribute.Key("gen_ai.usage.input_tokens")
	keyOutput        = attribute.Key("gen_ai.usage.output_tokens")
	keyCacheRead     = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyCacheWrite    = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	keyReasoning     = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	keyTool          = attribute.Key("gen_ai.tool.name")
	keyToolType      = attribute.Key("gen_ai.tool.type")
	keyToolCall      = attribute.Key("gen_ai.tool.call.id")
	keyErrorType     = attribute.Key("error.type")
)

// name is the name of a span.
func name(operation, target string) string {
	if target == "" {
		return operation
	}
	return operation + " " + target
}

func asked(e *agent.ModelStart) []attribute.KeyValue {
	out := []attribute.KeyValue{keyOperation.String("chat"), keyConversation.String(e.Run)}
	if e.Model != "" {
		out = append(out, keyRequestModel.String(e.Model))
	}
	return out
}

func replied(e *agent.ModelEnd) []attribute.KeyValue {
	var out []attribute.KeyValue
	if e.Model != "" {
		out = append(out, keyResponseModel.String(e.Model))
	}
	if e.StopReason != "" {
		out = append(out, keyFinish.StringSlice([]string{e.StopReason}))
	}
	for _, count := range []struct {
		key    attribute.Key
		tokens int64
	}{
		{keyInput, e.Usage.Input}, {keyOutput, e.Usage.Output}, {keyReasoning, e.Usage.Reasoning},
		{keyCacheRead, e.Usage.Cached}, {keyCacheWrite, e.Usage.CacheWrite},
	} {
		if count.tokens > 0 {
			out = append(out, count.key.Int64(count.tokens))
		}
	}
	return out
}

func called(e *agent.ToolStart) []attribute.KeyValue {
	return []attribute.KeyValue{
		keyOperation.String("execute_tool"), keyTool.String(e.Name), keyToolType.String("function"), keyToolCall.String(e.ID),
	}
}

func errorType(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "_OTHER"
}
