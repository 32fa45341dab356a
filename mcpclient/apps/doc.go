// Package apps reads the descriptions of views in tools and resources, and loads views: MCP Apps,
// the extension io.modelcontextprotocol/ui, revision 2026-01-26.
//
// A tool may have a view, which is HTML that a host shows with the tool's result. A tool may be
// for models, for views, or for both ([ReadToolMeta]):
//
//	about, err := apps.ReadToolMeta(tool)
//	if err == nil && about.ResourceURI != "" {
//		view, err := apps.Load(ctx, client, about.ResourceURI)
//		…
//	}
//
// A host that shows views declares this to its servers ([Declare]). Package host, below this one,
// runs the session with a view, and package sandbox serves the page in which a view runs.
//
// The guide is docs/apps.md of the repository.
//
// # Bounds
//
//	document of a view        16 MiB
//	URI of a view             2 KiB
//	sources in a list         64, of 256 bytes each; others are refused
//	resources listed to find the description of a view  1,000
package apps
