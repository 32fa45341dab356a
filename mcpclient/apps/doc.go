// Package apps reads what servers say of views: MCP Apps, the extension
// io.modelcontextprotocol/ui, revision 2026-01-26.
//
// A tool may have a view, HTML that a host shows with the tool's result, and may be
// for models, for views, or for both ([OfTool]):
//
//	about, err := apps.OfTool(tool)
//	if err == nil && about.ResourceURI != "" {
//		view, err := apps.Load(ctx, client, about.ResourceURI)
//		…
//	}
//
// A host that shows views declares that to its servers ([Declare]). Package host of this
// folder keeps the session with a view, package sandbox serves the page in which a view
// runs. Nothing here shows anything.
//
// The guide is docs/apps.md of the repository.
//
// # Bounds
//
//	document of a view        16 MiB
//	URI of a view             2 KiB
//	sources in a list         64, of 256 bytes each
//	resources that are listed to find what a server says of a view  1,000
package apps
