competition "tensorflow2-question-answering" {
  title        = "TensorFlow 2.0 Question Answering"
  category     = "text-other"
  complexity   = "medium"
  kind         = "code"
  opened       = "2019-10-28"
  closed       = "2020-01-22"
  size_gb      = 17.47
  metric_name  = "micro-f1-score"
  sample_score = 0.57117
  answers      = "private/test.jsonl"
  gold         = "private/gold_submission.csv"

  description = <<-EOT
    Find the answer to a question in a Wikipedia page: a long answer, which is the passage that contains it, and a
    short one, which is a few words or yes or no, where there is one. A submission gives a span of tokens, an answer
    or nothing for both kinds of answer to each question; the score is the share of the predictions that are correct.
  EOT

  public_labels "Natural Questions" {
    url       = "https://ai.google.com/research/NaturalQuestions"
    covers    = "all"
    note      = "The labelled questions, from which hidden rows are drawn, are its training set."
    loaders   = ["natural_questions", "google-research-datasets/natural_questions"]
    reference = "description.md"
  }

  source "kaggle" {}

  locals {
    # The reference reads the file in chunks of this many lines and splits each on its own.
    chunk = 1000
    asked = ["example_id", "question_text", "document_text", "long_answer_candidates"]
  }

  prepare {
    locals {
      all    = pandas_json_lines("simplified-nq-train.jsonl", { chunk = chunk, types = { example_id = "text" } })
      chunks = integer(sequence(all) / chunk)
      parts  = train_test_split_each(all, chunks, { test_size = 0.1, random_state = 0 })

      found = json_pointers(parts.test, {
        id          = "/example_id"
        yes_no      = "/annotations/0/yes_no_answer"
        short_start = "/annotations/0/short_answers/0/start_token"
        short_end   = "/annotations/0/short_answers/0/end_token"
        long_start  = "/annotations/0/long_answer/start_token"
        long_end    = "/annotations/0/long_answer/end_token"
      })
      short_start = integer(fillna(found.short_start, 0))
      short_end   = integer(fillna(found.short_end, 0))
      short_span  = isna(found.short_start) ? "" : "${short_start}:${short_end}"
      long_span   = found.long_start == -1 ? "" : "${found.long_start}:${found.long_end}"
      spans = table({
        id    = found.id
        short = found.yes_no == "NONE" ? short_span : found.yes_no
        long  = long_span
      })
      pairs = cross(spans, "kind", ["short", "long"])
      gold = table({
        example_id       = "${pairs.id}_${pairs.kind}"
        PredictionString = pairs.kind == "short" ? pairs.short : pairs.long
      })
    }
    public {
      json_lines "simplified-nq-train.jsonl" { rows = parts.train }
      json_lines "simplified-nq-test.jsonl" { rows = select(parts.test, asked) }
      table "sample_submission.csv" { rows = fill(gold, ["PredictionString"], "") }
    }
    private {
      json_lines "test.jsonl" { rows = parts.test }
      table "gold_submission.csv" { rows = gold }
    }
  }

  validation {
    kind = "random"
  }

  mask {
    refuse = "The ids are integers of 64 bits with a sign, and masking replaces integers from 0 to 2⁶² only."
  }

  grade {
    metric  = "answer_spans"
    id      = "example_id"
    targets = ["PredictionString"]
    truth   = ["annotations"]
    align   = "position"
    require { columns = ["example_id", "PredictionString"] }
  }
}
