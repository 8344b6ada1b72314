-- +goose Up
-- The same table as in ../mysql, whose comments hold here too.

CREATE TABLE tb_limited_buyer (
    voucher_id BIGINT NOT NULL,
    user_id    BIGINT NOT NULL,
    writes     BIGINT NOT NULL,
    PRIMARY KEY (voucher_id, user_id)
);
