package agentrun

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// fingerprintPrices adds the prices of the agent's models to the key.
func (a *attempt) fingerprintPrices(h *digest.Hasher) error {
	for i, m := range a.args.Agent.Models {
		if err := modelblock.Fingerprint(h, fmt.Sprintf("agent.models[%d]", i), m); err != nil {
			return err
		}
	}
	return nil
}

// checkModels checks the agent's model blocks, and that nothing else sets the variables
// of the gateway.
func (a *attempt) checkModels() error {
	var blocks []gateway.Block
	seen := map[string]string{}
	for _, m := range a.args.Agent.Models {
		if err := modelblock.Check(m); err != nil {
			return fmt.Errorf("model %q: %w", m.Name, err)
		}
		name := modelName(m.Name, "URL")
		if seen[name] != "" {
			return fmt.Errorf("the models %q and %q have the same variable %s; rename one", seen[name], m.Name, name)
		}
		seen[name] = m.Name
		blocks = append(blocks, gateway.Block{Model: gateway.Model{Name: m.Name}, Dialect: dialect.Named(m.Provider)})
	}
	if blocks == nil {
		return nil
	}
	own := modelEnv("", blocks)
	for _, env := range []map[string]string{a.args.Agent.Env, a.args.Agent.Secrets, a.args.Env} {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if _, taken := own[name]; taken {
				return fmt.Errorf("%s leads to the model gateway and is set by mleflow itself; remove it from env and secrets", name)
			}
		}
	}
	return nil
}

// Spending implements step.Spender.
func (a *attempt) Spending() (all []step.Spending) {
	for _, m := range a.args.Agent.Models {
		all = append(all, modelblock.Spending(m))
	}
	return all
}

// warnWeak warns of secrets that cannot be masked and whose values the plan did not
// know.
func (a *attempt) warnWeak(env *step.Env, secrets, keys map[string]string) {
	a.eachSecret(secrets, keys, func(of string, ref secret.Ref, value string) {
		if ref.Later() && secret.Bare(value) {
			env.Warn(unmasked(of))
		}
	})
}

// Unmasked implements step.Unmasking.
func (a *attempt) Unmasked() (list []string) {
	a.eachSecret(nil, nil, func(of string, ref secret.Ref, _ string) {
		if ref.Bare() {
			list = append(list, unmasked(of))
		}
	})
	return list
}

func unmasked(of string) string { return "not masked in logs: " + of + "; " + secret.WeakText }

// Missing implements step.Wanting. It lists empty secrets and model keys, and a program
// that the agent's sandbox does not show.
func (a *attempt) Missing() (list []string) {
	who := a.args.Agent
	a.eachSecret(nil, nil, func(of string, ref secret.Ref, _ string) {
		if why := ref.Missing(); why != "" {
			list = append(list, of+": "+why)
		}
	})
	if a.args.Runtime != Auto {
		if err := a.args.hostProgram(a.runtime); err != nil {
			list = append(list, fmt.Sprintf("agent %q cannot start: %v", who.Name, err))
		}
	}
	return list
}

// eachSecret calls fn with each secret of the agent and each key of its models: what it
// is, its reference, and its value if it is among those.
func (a *attempt) eachSecret(secrets, keys map[string]string, fn func(of string, ref secret.Ref, value string)) {
	who := a.args.Agent
	call := func(of, at, value string) {
		if ref, err := secret.ParseRef(at); err == nil {
			fn(of, ref, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(who.Secrets)) {
		call(fmt.Sprintf("secret %s of agent %q", name, who.Name), who.Secrets[name], secrets[name])
	}
	for _, m := range who.Models {
		if modelblock.Live(m) {
			call(fmt.Sprintf("key of model %q", m.Name), m.Key.Ref, keys[m.Name])
		}
	}
}
