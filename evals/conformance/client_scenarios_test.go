package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/skills"
)

// tools lists the tools of the server.
func (s *session) tools(ctx context.Context) (all []*mcp.Tool, err error) {
	for t, err := range s.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func listTools(ctx context.Context, s *session) error {
	_, err := s.tools(ctx)
	return err
}

// useTools calls every tool that the client lists.
func useTools(ctx context.Context, s *session) error {
	tools, err := s.tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		if _, err := s.CallTool(ctx, t.Name, map[string]any{"a": 2, "b": 3, "region": "eu"}); err != nil {
			return err
		}
	}
	return nil
}

func connectOnly(context.Context, *session) error { return nil }

func ping(ctx context.Context, s *session) error { return s.Ping(ctx) }

// useEverything uses tools, resources and prompts.
func useEverything(ctx context.Context, s *session) error {
	if err := useTools(ctx, s); err != nil {
		return err
	}
	for r, err := range s.Resources(ctx) {
		if err != nil {
			return err
		}
		if _, err := s.ReadResource(ctx, r.URI); err != nil {
			return err
		}
	}
	for p, err := range s.Prompts(ctx) {
		if err != nil {
			return err
		}
		if _, err := s.GetPrompt(ctx, p.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// callsOfContext makes the calls that the suite names.
func callsOfContext(ctx context.Context, s *session) error {
	var want struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal(s.context, &want); err != nil {
		return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	if err := listTools(ctx, s); err != nil {
		return err
	}
	for _, call := range want.ToolCalls {
		if _, err := s.CallTool(ctx, call.Name, call.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema sends a listed schema back, unchanged.
func echoSchema(ctx context.Context, s *session) error {
	tools, err := s.tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		if t.Name == "json_schema_2020_12_tool" {
			_, err := s.CallTool(ctx, "json_schema_echo", map[string]json.RawMessage{"schema": t.InputSchema})
			return err
		}
	}
	return errors.New("the tool with the schema is not listed")
}

func listSkills(ctx context.Context, s *session) error {
	for _, err := range skills.List(ctx, s.Client) {
		if err != nil {
			return err
		}
	}
	return nil
}

// loadSkills loads every listed skill and reads its files. A skill that differs
// from its entry is not used; that is no failure.
func loadSkills(ctx context.Context, s *session) error {
	for skill, err := range skills.List(ctx, s.Client) {
		if err != nil {
			return err
		}
		loaded, err := skills.Load(ctx, s.Client, skill)
		for _, file := range skill.Files {
			if err == nil {
				_, err = loaded.ReadFile(ctx, file.URI)
			}
		}
		if _, unfit := errors.AsType[*skills.Error](err); err != nil && !unfit {
			return err
		}
	}
	return nil
}
