-- +goose Up
-- The same indexes as in ../mysql, whose comments hold here too.

CREATE INDEX idx_order_state ON tb_voucher_order (status, voucher_id, id);
CREATE INDEX idx_payment_shop_state ON tb_payment (shop_id, state, create_time, number);
CREATE INDEX idx_payment_shop_dispute ON tb_payment (shop_id, dispute, create_time, number);
CREATE INDEX idx_payment_voucher_state ON tb_payment (voucher_id, state, create_time, number);
