package serve

import (
	"html/template"
	"sync"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
)

// queueLink leads to the page of the queue, and leavePath is what its form signs out at.
var queueLink = page.Link{Text: "Queue", Address: "/queue"}

const leavePath = "/sign-out"

// queueShown is the number of submissions and that of rollouts on the page.
const queueShown = 200

var queuePage = sync.OnceValue(func() *template.Template {
	return page.Parse("queue", `<header><h1>Queue</h1></header>
<form method="post" action="`+leavePath+`" class="sign-in"><p>You are signed in as <bdi>{{.Who.Name}}</bdi>, {{.Who.Role}}.{{if .Cookie}} <button>Sign out</button>{{end}}</p></form>
{{if .List}}<div class="card scroll flush" tabindex="0" role="group" aria-label="Submissions"><table>
<thead><tr><th scope="col">Submission</th><th scope="col">Owner</th><th scope="col">State</th><th scope="col">Run</th><th scope="col" class="num">Priority</th><th scope="col">Submitted</th></tr></thead>
<tbody>{{range .List}}<tr><td class="name"><bdi>{{or .Name .Pipeline}}</bdi><br><code class="soft">{{.ID}}</code></td><td><bdi>{{.Owner}}</bdi></td>
<td>{{.State}}{{if .Waits}}: {{.Waits}}{{else if .Exit}} with status {{.Exit}}{{end}}</td><td>{{with .Run}}<a href="/runs/{{.}}"><code>{{.}}</code></a>{{end}}</td><td class="num">{{.Priority}}</td><td>{{date .Submitted}}</td></tr>
{{end}}</tbody></table></div>{{else}}<p class="missing">Nobody has submitted a pipeline. mleflow apply --server submits one.</p>{{end}}
{{if .Offers}}<h2>Rollouts</h2>{{end}}
{{if .Rollouts}}<div class="card scroll flush" tabindex="0" role="group" aria-label="Rollouts"><table>
<thead><tr><th scope="col">Rollout</th><th scope="col">Owner</th><th scope="col">State</th><th scope="col">Attempt</th><th scope="col">Data</th><th scope="col" class="num">Reward</th><th scope="col">Run</th><th scope="col">Submitted</th></tr></thead>
<tbody>{{range .Rollouts}}<tr><td class="name"><bdi>{{.Key}}</bdi><br><code class="soft">{{.ID}}</code></td><td><bdi>{{.Owner}}</bdi></td>
<td>{{.State}}{{with .Error}}: <bdi>{{.}}</bdi>{{end}}</td><td><bdi>{{.Attempt}}</bdi></td><td>{{.Request.Data}}{{if eq .Request.Reward.On "validation"}}, validation{{end}}</td>
<td class="num">{{with .Result}}{{printf "%.3g" .Reward}}{{end}}</td><td>{{with .Run}}<a href="/runs/{{.}}"><code>{{.}}</code></a>{{end}}</td><td>{{date .Submitted}}</td></tr>
{{end}}</tbody></table></div>{{else if .Offers}}<p class="missing">Nobody has asked for a rollout. POST `+api+`/rollouts asks for one.</p>{{end}}`, nil)
})

// queue shows the submissions, the rollouts, and who is signed in.
func (c *call) queue() error {
	list := c.service.List()
	_, err := c.Cookie(c.people.cookie)
	facts := map[string]any{"Who": c.who, "Cookie": err == nil, "List": list[:min(len(list), queueShown)], "Offers": c.rollouts != nil}
	if c.rollouts != nil {
		facts["Rollouts"] = c.rollouts.List(queueShown)
	}
	body, failed := page.Fill(queuePage(), facts)
	if failed != nil {
		return failed
	}
	c.pages.Page(c.ResponseWriter, queueLink.Text, body)
	return nil
}
