// Package lc joins agents and langchaingo.
//
// [Model] makes a model for agents of any model of langchaingo:
//
//	a, err := agent.New(lc.Model(llm, nil), nil)
//
// [Chain] is an agent as a chain, [History] is a run as the history of a chat, and
// [Callbacks] tells a handler what happens in a run.
//
//	chain := lc.Chain(a, nil)
//	answer, err := chains.Run(ctx, chain, "What do I need in Oslo?") // of langchaingo
//
// The guide docs/agent.md of the repository has a chapter on langchaingo.
package lc
