// Package agenteval runs suites of tasks with an agent, and keeps what each trial came to.
//
//	err := agenteval.Run(ctx, []*suite.Suite{s}, &agenteval.Options{Model: model.Spec{Mode: results.Scripted}, Results: file})
package agenteval
