// Package lc connects agents with langchaingo.
//
// [Model] adapts any model of langchaingo for agents:
//
//	a, err := agent.New(lc.Model(llm, nil), nil)
//
// [Chain] makes a chain from an agent, [History] presents a run as the history of a chat, and
// [Callbacks] tells a handler what happens in a run.
//
//	chain := lc.Chain(a, nil)
//	answer, err := chains.Run(ctx, chain, "What do I need in Oslo?") // chains is a package of langchaingo
//
// The guide docs/agent.md of the repository has a chapter on langchaingo.
package lc
