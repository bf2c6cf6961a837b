//! Ground stations at vehicles, through the coordinator.

use super::Server;
use crate::failure::Failure;
use crate::route::Route;
use proto::bearer::Bearer;
use proto::v1::guests_client::GuestsClient;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

/// What opens ways to vehicles.
pub type GuestClient = GuestsClient<InterceptedService<Channel, Bearer>>;

/// What may be under way to us of one vehicle: a few seconds. What is older is of no use, and is lost before it is sent.
const WINDOW: u32 = 65_535;

impl Server {
    /// Connects, for ways to vehicles.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn connect_for_guests(route: &Route) -> Result<Self, Failure> {
        Self::connect_with(route, Some(WINDOW)).await
    }

    /// What opens ways to vehicles on this connection.
    pub fn guests(&self) -> GuestClient {
        GuestsClient::new(self.channel.clone())
    }

    /// Forgets what was shown, where it is of an earlier command and may count no more. Whether there was such a thing.
    pub fn forget_stored(&mut self) -> bool {
        self.stored.take().map(|stored| stored.forget()).is_some()
    }
}
