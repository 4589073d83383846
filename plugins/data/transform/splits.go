package transform

// Split is a usual split of competitions: its name elsewhere, and the locals that make it
// of a table named all. They end with parts, or with train and test.
type Split struct {
	Name   string
	Locals []string
}

// Splits are the splits that Kaggle's competitions and scikit-learn name.
var Splits = []Split{
	{"train_test_split: random rows", []string{`parts = train_test_split(all, { test_size = 0.2, random_state = 0 })`}},
	{"train_test_split, stratified", []string{`parts = train_test_split(all, { test_size = 0.2, stratify = all.label })`}},
	{"ShuffleSplit, StratifiedShuffleSplit: the third split", []string{`parts = train_test_split(all, { test_size = 0.2, stratify = all.label, fold = 2 })`}},
	{"KFold: the first of five folds", []string{`parts = k_fold(all, { splits = 5, fold = 0, shuffle = true, random_state = 0 })`}},
	{"StratifiedKFold", []string{`parts = k_fold(all, { splits = 5, stratify = all.label })`}},
	{"GroupKFold: all rows of a user on one side", []string{`parts = k_fold(all, { splits = 5, groups = all.user })`}},
	{"StratifiedGroupKFold", []string{`parts = k_fold(all, { splits = 5, stratify = all.label, groups = all.user })`}},
	{"GroupShuffleSplit: a share of the users", []string{
		`users = train_test_split(sort(unique(all.user)), { test_size = 0.2, random_state = 0 })`,
		`train = where_in(all, "user", users.train)`, `test = where_in(all, "user", users.test)`,
	}},
	{"LeaveOneGroupOut: one site", []string{`train = where_not_in(all, "site", ["north"])`, `test = where_in(all, "site", ["north"])`}},
	{"PredefinedSplit: a column of folds", []string{`train = filter(all, all.fold != 0)`, `test = filter(all, all.fold == 0)`}},
	{"TimeSeriesSplit: the last rows", []string{`parts = time_series_split(sort_values(all, "day"), { splits = 4 })`}},
	{"TimeSeriesSplit with a gap and a horizon", []string{`parts = time_series_split(sort_values(all, "day"), { splits = 2, test_size = 5, gap = 2 })`}},
	{"Within each user: some rows of everybody", []string{`parts = train_test_split_each(sort_values(all, "user", "day"), sort_values(all, "user", "day").user, { test_size = 0.2 })`}},
	{"Usage: public and private rows of Kaggle's solution file", []string{`train = csv("train.csv")`, `test = filter(all, all.Usage == "Private")`}},
}
