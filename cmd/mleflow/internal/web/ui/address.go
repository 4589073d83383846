package ui

import (
	"net/url"
)

// What the sides of a comparison are, in their addresses.
const agentPrefix, runPrefix = "agent:", "run:"

func compareAddress(refs ...string) string { return "/compare?" + url.Values{"of": refs}.Encode() }

// stepAddress returns the address of a step's page, for one of its tabs.
func stepAddress(run, address, tab string) string {
	q := url.Values{"address": {address}}
	if tab != "" {
		q.Set("tab", tab)
	}
	return "/step/" + url.PathEscape(run) + "?" + q.Encode()
}

func agentAddress(name, program string) string {
	q := url.Values{"name": {name}}
	if program != "" {
		q.Set("program", program)
	}
	return "/agent?" + q.Encode()
}

// sidesShown is the largest number of sides of a comparison.
const sidesShown = 12

func runAddress(id string) string { return "/runs/" + url.PathEscape(id) }

func competitionAddress(id string) string { return "/competitions/" + url.PathEscape(id) }
