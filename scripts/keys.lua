-- Prelude of scripts that must work even if somebody wrote other data to their keys by hand.

-- remove_unless removes a key that has another type than the wanted one.
local function remove_unless(wanted, key)
  local kind = redis.call('TYPE', key).ok
  if kind ~= wanted and kind ~= 'none' then
    redis.call('UNLINK', key)
  end
end
