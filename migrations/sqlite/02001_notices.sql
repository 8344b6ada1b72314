-- +goose Up
-- The same tables, columns and rules as in ../mysql, whose comments hold here too.

CREATE TABLE tb_refused_notice (
    provider    VARCHAR(32)  NOT NULL,
    refusal     VARCHAR(32)  NOT NULL,
    notices     BIGINT       NOT NULL,
    detail      VARCHAR(255) NOT NULL,
    payment_id  VARCHAR(64)  NOT NULL,
    amount      BIGINT       NOT NULL,
    refuse_time DATETIME     NOT NULL,
    PRIMARY KEY (provider, refusal)
) WITHOUT ROWID;

ALTER TABLE tb_payment ADD COLUMN progress TINYINT NOT NULL DEFAULT 0;
ALTER TABLE tb_payment ADD COLUMN progress_time DATETIME NULL;
ALTER TABLE tb_payment ADD COLUMN progress_until DATETIME NULL;
ALTER TABLE tb_payment ADD COLUMN failure VARCHAR(255) NOT NULL DEFAULT '';

ALTER TABLE tb_voucher_order ADD COLUMN processing TINYINT NOT NULL DEFAULT 0;

ALTER TABLE tb_voucher ADD COLUMN processing_within BIGINT NULL;
