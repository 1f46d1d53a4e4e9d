"""The keys of a config.json, read strictly: one clear line for what is missing, no size, or not known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from regard.sharing.sizes import pair

# Fields that change no count: names, tokens, training, generation, numbers inside norms and positions.
HARMLESS = frozenset(
    [
        "_name_or_path",
        "_attn_implementation",
        "model_type",
        "architectures",
        "transformers_version",
        "torch_dtype",
        "dtype",
        "quantization_config",
        "auto_map",
        "use_cache",
        "return_dict",
        "output_attentions",
        "output_hidden_states",
        "torchscript",
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
        "sep_token_id",
        "cls_token_id",
        "mask_token_id",
        "decoder_start_token_id",
        "initializer_range",
        "initializer_factor",
        "init_std",
        "initializer_cutoff_factor",
        "layer_norm_eps",
        "rms_norm_eps",
        "layer_norm_epsilon",
        "hidden_dropout_prob",
        "attention_probs_dropout_prob",
        "attention_dropout",
        "hidden_dropout",
        "dropout",
        "resid_pdrop",
        "embd_pdrop",
        "attn_pdrop",
        "classifier_dropout",
        "activation_dropout",
        "layerdrop",
        "qa_dropout",
        "seq_classif_dropout",
        "drop_path_rate",
        "rope_theta",
        "rope_scaling",
        "rope_parameters",
        "rope_local_base_freq",
        "rotary_emb_base",
        "max_position_embeddings",
        "original_max_position_embeddings",
        "pretraining_tp",
        "task_specific_params",
        "gradient_checkpointing",
        "position_embedding_type",
        "id2label",
        "label2id",
        "num_labels",
        "finetuning_task",
        "problem_type",
        "is_encoder_decoder",
        "router_aux_loss_coef",
        "router_jitter_noise",
        "output_router_logits",
        "norm_topk_prob",
        "routed_scaling_factor",
        "scoring_func",
        "topk_method",
        "topk_group",
        "n_group",
        "aux_loss_alpha",
        "seq_aux",
        "ep_size",
        "rope_interleave",
        "num_nextn_predict_layers",
        "summary_type",
        "summary_use_proj",
        "summary_activation",
        "summary_proj_to_labels",
        "summary_first_dropout",
        "reorder_and_upcast_attn",
        "cache_implementation",
        "prefix",
        "bad_words_ids",
        "layerscale_value",
        "encoder_stride",
        "query_pre_attn_scalar",
        "chunk_size_feed_forward",
        "sinusoidal_pos_embds",
        "directionality",
        "pooler_fc_size",
        "pooler_num_attention_heads",
        "pooler_num_fc_layers",
        "pooler_size_per_head",
        "pooler_type",
        "gradient_checkpointing_kwargs",
        "tokenizer_class",
        "n_ctx",
        "unsloth_version",
    ]
)


@dataclass(frozen=True)
class Keys:
    """The keys of a config; every one that is asked for is remembered as known."""

    data: Mapping[str, object]
    source: str
    asked: set[str] = field(default_factory=set)

    def get(self, name: str) -> object:
        """The value, None where it is null or missing."""
        self.asked.add(name)
        return self.data.get(name)

    def size(self, *names: str, default: int | None = None, least: int = 1) -> int:
        """A positive integer, or the default where it is null or missing."""
        for name in names:
            value = self.get(name)
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, int) or value < least:
                    raise ValueError(
                        f"{self.source}: {name} must be a positive integer, got {name}={value!r}"
                    )
                return value
        if default is None:
            raise ValueError(f"{self.source}: the key {' or '.join(names)} is missing")
        return default

    def maybe(self, name: str) -> int | None:
        """A positive integer, or None where it is null or missing."""
        return None if self.get(name) is None else self.size(name)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise ValueError(f"{self.source}: {name} must be true or false, got {name}={value!r}")
        return default if value is None else value

    def word(self, name: str, default: str) -> str:
        """A name."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{self.source}: {name} must be a word, got {name}={value!r}")
        return default if value is None else value

    def number(self, name: str, default: float | None) -> float | None:
        """A number."""
        value = self.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{self.source}: {name} must be a number, got {name}={value!r}")
        return default if value is None else float(value)

    def sides(self, name: str) -> tuple[int, int]:
        """One side or two."""
        value = self.get(name)
        if value is None:
            raise ValueError(f"{self.source}: the key {name} is missing")
        found = tuple(value) if isinstance(value, list) else value
        return pair(name, cast(int, found), 1)

    def only(self, name: str, *known: object) -> None:
        """Refuse a value that would change what we count."""
        value = self.get(name)
        if value is not None and value not in known:
            told = " or ".join(repr(one) for one in known)
            raise ValueError(f"{self.source}: only {name}={told} has a price here, got {name}={value!r}")

    def named(self, name: str) -> bool:
        """Whether the key is there, null or not."""
        return name in self.data

    @property
    def architecture(self) -> str:
        """The name of the class, or an empty one."""
        names = self.data.get("architectures")
        if names is None:
            return ""
        if not isinstance(names, list) or len(names) > 1 or not all(isinstance(one, str) for one in names):
            raise ValueError(f"{self.source}: architectures must name one class, got architectures={names!r}")
        return names[0] if names else ""

    @property
    def labels(self) -> int:
        """How many classes: by name, or by number."""
        named = self.data.get("id2label")
        return self.size("num_labels", default=len(named) if isinstance(named, Mapping) and named else 2)

    def head(self, heads: Mapping[str, str], default: str, begins: Sequence[str]) -> str:
        """What the class puts on the backbone, by its whole name; the default where no class is named."""
        if self.architecture == "":
            return default
        for begin in begins:
            if self.architecture.removeprefix(begin) in heads and self.architecture.startswith(begin):
                return heads[self.architecture.removeprefix(begin)]
        raise ValueError(
            f"{self.source}: the class {self.architecture} of a {self.data['model_type']} has no price here"
        )

    def check_known(self, ignored: Collection[str] = ()) -> None:
        """Raise where a field says something that nobody asked for, unless the model itself ignores it."""
        strange = [
            name
            for name, value in self.data.items()
            if name not in self.asked | HARMLESS and name not in ignored and value is not None
        ]
        if strange:
            raise ValueError(
                f"{self.source}: the field {strange[0]}={self.data[strange[0]]!r:.60} of a "
                f"{self.data.get('model_type')} is not known here, and might change its cost"
            )
